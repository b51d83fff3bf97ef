//! What must be masked, what must stay readable, and that no text makes redaction fail or crawl.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::string_slice)]

use std::time::Duration;

use super::*;
use crate::work_time::work_time;
use proptest::prelude::*;

/// Each text holds «the secret» between guillemets; the rest must stay.
const MUST_MASK: &[&str] = &[
    // provider tokens
    "use «sk-abcdef0123456789» now",
    "«sk-ant-api03-AbC_d-1234567890»",
    "line\\n«sk-proj-abcdef0123»\\nnext",
    "key%3D«sk-abcdef0123456789»",
    "«ghp_16C7e42F292c6912E7710c838347Ae178B4a»",
    "(«gho_16C7e42F292c6912E771»)",
    "«ghs_16C7e42F292c6912E771», «github_pat_11ABCDE_abcdef»",
    "«glpat-abc_DEF-123456»",
    "«xoxb-123456789012-abcdefABCDEF» «xoxp-1-234567»",
    "«AKIAIOSFODNN7EXAMPLE» and «ASIAIOSFODNN7EXAMPLE»",
    "\"«eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1g»\"",
    // bearer and basic
    "Bearer «abc123DEF456»",
    "bearer «my-secret-token»",
    "curl -H 'Authorization: Bearer «abcdefgh»' https://x.test",
    "curl -H \"Authorization: Basic «dXNlcjpwYXNz»\" x",
    "Authorization: «0123abcd»",
    "Authorization: Digest «username=\"a\", response=\"b12\"»\nHost: x",
    "Basic «dXNlcm5hbWU6cGFzc3dvcmQ=»",
    "Cookie: «session=abc; theme=dark»\nAccept: */*",
    "{\"authorization\": \"«Bearer abc»\"}",
    // PEM
    "a\n«-----BEGIN RSA PRIVATE KEY-----\nMIIEow/+=\nabcd\n-----END RSA PRIVATE KEY-----»\nb",
    "{\"k\": \"«-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----»\\n\"}",
    "«-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\nBG5vbmUAAAAEbm9uZQ»",
    "«-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\nAAAA»",
    "\n«MIIEowIBAAKCAQEAwJbW3Yx0dGVzdHRlc3R0ZXN0dGVzdHRlc3R0ZXN0dGVzdHRl\nQUJDREVGRw==\n-----END PRIVATE KEY-----»",
    // URLs
    "https://«user:hunter2»@host.test/path?q=1",
    "postgres://«admin:p@ss:w0rd»@db:5432/app",
    "postgres://«admin:pa/ss»@db/app",
    "redis://«:pass»@cache:6379",
    "git clone https://«0123456789abcdef»@github.com/o/r.git",
    // shell
    "API_KEY=«abc» node x.js",
    "export AWS_SECRET_ACCESS_KEY=«wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY»",
    "DB_PASSWORD='«correct horse battery»' run",
    "PGPASSWORD=\"«a\\\"b c»\" psql",
    "MY_TOKEN=$'«a b»'",
    "PASSWORD=«p&ss,w;rd)x»\nNEXT=1",
    "mysql --password=«hunter2» -u root",
    "tool --password «hunter2» --verbose",
    "tool --api-key \"«abc def»\" x",
    "tool --token «abc» file",
    "DB_PASS=«x1»; ls",
    "SECRET_KEY_BASE=«abc»",
    "TOKEN_2=«abc»",
    "docker run -e \"TOKEN=«abc»\" image",
    "a\\nAPI_KEY=«abc»\\nNEXT=1",
    // JSON, YAML, code
    "{\"apiKey\": \"«abc»\", \"n\": 1}",
    "{\"apiKey\":\"«abc»\",\"n\":1}",
    "{\"client_secret\":\"«a\\\"b»\"}",
    "{\\\"apiKey\\\": \\\"«abc»\\\", \\\"n\\\": 1}",
    "{\"token\": [\"«a1»\", \"«b2»\"], \"n\": 1}",
    "{\"password\": «12345», \"n\": 1}",
    "password: «hunter2»\nuser: bob",
    "Password = «hunter2»",
    "const apiKey = '«abc»';",
    "const token: string = \"«abc»\";",
    "let secret =\n    \"«abc»\";",
    "config['password'] = '«abc»'",
    ":password => '«abc»'",
    "if (token === \"«abc»\") {}",
    "private_key: «abc»",
    "{ accessToken: «abc123», x }",
    "key: «9f86d081884c7d659a2feaa0c55ad015»",
    // names that say little, and values with letters and digits
    "key=«hunter2»",
    "KEY: «hunter2»",
    "my_key=«hunter2»",
    "myKey: '«hunter2»'",
    "{\"key\":\"«hunter2»\"}",
    "{key:\"«hunter2»\"}",
    "GET /?key=«hunter2»",
    "X-Key: «hunter2»",
    "auth=«hunter2»",
    "password==«hunter2»",
    // values that go on
    "password=$(cat x)«hunter2»",
    "password=${A}${B}«hunter2» y",
    "password=«two\\ words» next",
    "secret: |\n  «hunter2»\nnext: 1",
    "  secret: >-\n    «one\n    two»\n  next: 1",
    "secret: |+\n\n  «a\n\n  b»\n",
    // headers and queries
    "X-Api-Key: «abc»",
    "-H \"X-Api-Key: «abc»\" https://x.test",
    "https://x.test/a?token=«abc»&page=2",
    "https://x.test/a?page=2&api_key=«abc#1»",
    "GET /maps?key=«supersecret»&v=3",
    "x?access_token=«abc»",
    "Server=db;Password=«abc»;Database=x",
    // addresses
    "write to «jane.doe+x@mail.example.com».",
    "<«jörg@exämple.de»>",
    "/backup/«jane@example.com»-2024, {\"to\":\"a\\n«jane@example.com».\"}",
];

const MUST_KEEP: &[&str] = &[
    "the token count was 5",
    "key: value",
    "tokens: 12",
    "inputTokens: 12, outputTokens: 7",
    "maxTokens=4096",
    "\"token_count\": 5",
    "password reset page",
    "the password is wrong",
    "a bearer token is needed, and bearer authentication",
    "Bearer tokens, basic understanding, Basic JavaScript",
    "use --password to set it",
    "/usr/local/lib/token/key.txt",
    "src/tokens/secret_key.rs:12:3",
    "550e8400-e29b-41d4-a716-446655440000",
    "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "task-management-system risk-assessment-report",
    "npm i lodash@4.17.21 @types/node@20.1.0-beta.rc",
    "icon@2x.png",
    "git@github.com:owner/repo.git",
    "ssh://git@github.com/o/r",
    "http://localhost:8080/a@b",
    "https://registry.npmjs.org:443/@babel/core",
    "file:///C:/Users/a",
    "http://[::1]:3000/a@b",
    "apiKey: process.env.API_KEY,",
    "API_KEY=$API_KEY API_KEY=${KEY} API_KEY=\"$KEY\" TOKEN=$(cat token)",
    "token: ${{ secrets.TOKEN }}",
    "password: string;",
    "token: null, secret: undefined",
    "const token = getToken();",
    "let token = tokens[0];",
    "if (token == null) return; token === other",
    "tokens.map(token => token.text)",
    "Token::new(text), secret::Key",
    "@Component({ key: 'ArrowDown' })",
    "<li key={item.id}>",
    "sorted(x, key=len)",
    "primary_key: user_id_12345678, publicKey=abcdefgh12345678",
    "keyboard: qwerty12, monkey: 5",
    "token:\n  - a",
    "PWD=/home/me/project",
    "password:",
    "\"password\": \"\"",
    "secret",
    "",
    "fetch(url, { credentials: 'include' })",
    "fn key(&self) -> &str { self.key }",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "12:30:45 [info] started",
    "monkey=hunter2, turkey: abc12345, Monkey=hunter2",
    "key=value key=id key: Enter, keys=hunter2",
    "hotkey: ctrl1234, author=hunter2",
    "if (password==other && token==null) {}",
    "TOKEN=$(cat token) PASSWORD=${A}${B} token: ${{ secrets.TOKEN }}",
    "password: $(cat x)/file",
    "description: |\n  a text\nnext: 1",
    "secret: |\nnext: 1",
    "secret | grep x",
];

fn planted(text: &str) -> (String, String, Vec<String>) {
    let mut plain = String::new();
    let mut expected = String::new();
    let mut secrets = Vec::new();
    for (index, piece) in text.split(['«', '»']).enumerate() {
        plain.push_str(piece);
        if index % 2 == 1 {
            expected.push_str(MASK);
            secrets.push(piece.to_string());
        } else {
            expected.push_str(piece);
        }
    }
    (plain, expected, secrets)
}

#[test]
fn masks_secrets_and_nothing_around_them() {
    let mut wrong = Vec::new();
    for text in MUST_MASK {
        let (plain, expected, _) = planted(text);
        let masked = redact_text(&plain);
        if masked != expected {
            wrong.push(format!("{plain:?}\n     got {masked:?}\nexpected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn keeps_ordinary_text_readable() {
    let wrong: Vec<_> =
        MUST_KEEP.iter().filter(|text| redact_text(text) != **text).map(|text| redact_text(text)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(MUST_KEEP.iter().all(|text| matches!(redact_text(text), Cow::Borrowed(_))));
}

#[test]
fn masking_again_changes_nothing() {
    for text in MUST_MASK {
        let once = redact_text(&planted(text).0).into_owned();
        assert_eq!(redact_text(&once), once);
    }
}

#[test]
fn says_that_it_cut_and_cuts_between_characters() {
    for (unit, separator) in [("x", ""), ("é", ""), ("😀", ""), ("word", " "), ("日本", "\n")] {
        let text = format!("{unit}{separator}").repeat(2 * MAX_TEXT_BYTES);
        let cut = redact_text(&text);
        let shown = cut.strip_suffix(CUT_MARKER).unwrap();
        assert!(text.starts_with(shown));
        assert!(shown.len() <= MAX_TEXT_BYTES && shown.len() >= MAX_TEXT_BYTES - MAX_HELD_BACK_BYTES - 4);
    }
    let whole = "x".repeat(MAX_TEXT_BYTES);
    assert_eq!(redact_text(&whole), whole);
}

#[test]
fn a_secret_that_straddles_the_cut_leaks_no_head() {
    let long = |start: &str| format!("{start}{}", "aB3".repeat(2000));
    let secrets = [
        "sk-abcdef0123456789abcdef".to_string(),
        "jane.doe@mail.example.com".to_string(),
        "https://user:hunter2hunter2@host.test".to_string(),
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP".to_string(),
        "password=\"correct horse battery staple\"".to_string(),
        long("https://user:"),
        long("eyJ"),
        long("API_KEY="),
        long("-----BEGIN PRIVATE KEY-----\nMIIE"),
        format!("password='{}'", "correct horse ".repeat(500)),
    ];
    for secret in &secrets {
        for (fill, head) in [("word ", 4), ("x,", 4), ("/", 3)] {
            for back in (0..secret.len().min(1200)).step_by(7) {
                let mut text = fill.repeat(MAX_TEXT_BYTES / fill.len());
                text.truncate(MAX_TEXT_BYTES - back);
                let start = text.len();
                text.push(if head == 4 { ' ' } else { ',' });
                text.push_str(secret);
                text.push_str(" and more");
                let masked = redact_text(&text);
                // What stays of it may be its name, or its scheme, and never its content.
                let shown = masked.get(start.min(masked.len())..).unwrap_or("").trim_end_matches(CUT_MARKER);
                for content in ["sk-", "jane", "hunt", "user", "eyJ", "aB3", "MII", "corr", "horse"] {
                    assert!(!shown.contains(content), "{back} {fill:?} {secret:.30} {shown:?}");
                }
            }
        }
    }
}

/// Texts that would take long if anything were quadratic.
#[test]
fn hostile_texts_take_linear_time() {
    let units = [
        "key=",
        "token=",
        "key='",
        "token=\\\"",
        "cookie: the ",
        "cookie:",
        "://",
        "://a:",
        "://a:1/",
        "@",
        "a@",
        "a@b.",
        "eyJ",
        "eyJaaaa.",
        "sk-",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "bearer ",
        "A\n",
        "\\",
        "\\n",
        "token:[\"",
        "token: any = ",
        "key=a1b2c3d4",
        "password \"",
        "&",
        "token=$",
        "token=(",
        "Basic ",
        "key: \n",
        "é",
        "token==",
        "%3D",
        "authorization: digest ",
        "[",
        "--token ",
        "key:",
        "\"",
        "key\":\"${a}\" ",
        "api_key",
        "AKIA",
        "_",
        "-",
        "token= f(",
    ];
    for unit in units {
        for other in ["", " ", "\"", "\\"] {
            let unit = format!("{unit}{other}");
            let text = unit.repeat(MAX_TEXT_BYTES / unit.len());
            let started = work_time();
            let _ = redact_text(&text);
            let took = work_time() - started;
            assert!(took < Duration::from_secs(2), "{unit:?} took {took:?}");
        }
    }
}

proptest! {
    #[test]
    fn never_panics_on_any_text(text in "\\PC*", bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = redact_text(&text);
        let _ = redact_text(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn never_panics_on_pieces_of_secrets(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        let text = pieces.concat();
        let masked = redact_text(&text);
        prop_assert!(!masked.contains("ghp_abcdefgh") && !masked.contains("PRIVATE KEY"), "{masked}");
    }

    #[test]
    fn masking_texts_of_secrets_again_changes_nothing(
        texts in prop::collection::vec(prop::sample::select(MUST_MASK), 1..6),
    ) {
        let text: Vec<_> = texts.iter().map(|text| planted(text).0).collect();
        let once = redact_text(&text.join("\n\n")).into_owned();
        prop_assert_eq!(redact_text(&once).into_owned(), once);
    }

    #[test]
    fn never_leaves_a_planted_secret(index in 0..MUST_MASK.len(), before in "[ -~é\n]{0,60}", after in "[ -~é\n]{0,60}") {
        let (plain, _, secrets) = planted(MUST_MASK[index]);
        let text = format!("{before}\n{plain}\n{after}");
        let masked = redact_text(&text);
        for secret in secrets.iter().filter(|secret| secret.len() > 4) {
            prop_assert!(!masked.contains(secret.as_str()), "{masked}");
        }
    }

    #[test]
    fn masks_random_passwords_in_all_forms(
        word in "[A-Za-z0-9][A-Za-z0-9!#%*+./?@^_~:-]{8,40}",
        phrase in "[A-Za-z0-9][ !#-&(-\\[\\]-_a-~]{8,40}",
        form in 0usize..4,
    ) {
        let password = if form % 2 == 0 { word } else { phrase };
        let text = match form {
            0 => format!("PASSWORD={password}\n"),
            1 => format!("{{\"password\":\"{password}\"}}"),
            2 => format!("X-Auth-Token: {password}\n"),
            _ => format!("run --password '{password}' x"),
        };
        prop_assert!(!redact_text(&text).contains(&password), "{}", redact_text(&text));
    }
}

const PIECES: &[&str] = &[
    "key",
    "token",
    "password",
    "authorization",
    "cookie",
    "=",
    ": ",
    ":",
    "\"",
    "'",
    "\\\"",
    "\\",
    "\n",
    "\\n",
    " ",
    "ghp_abcdefgh",
    "Bearer ",
    "Basic ",
    "eyJhbGci.eyJzdWIi",
    "://",
    "user:pw@",
    "@",
    "a@b.cd",
    "é",
    "😀",
    "[",
    "]",
    "{",
    "}",
    "$",
    "${A}",
    ",",
    ";",
    "&",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "abc123",
    "--",
    "_",
    "[redacted]",
    "null",
    "= ",
    "Digest ",
    "a=b",
    "%3D",
];
