//! Definitions of agents and skills in real folders: which files count, what is accepted of them, and what the error
//! says where it is not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use lite_agent::config_file::MAX_FILE_BYTES;
use lite_agent::definitions::{
    AgentDefinition, DefinitionFailure, GENERAL_PURPOSE, MAX_DEFINITIONS, Skill, load_agents, load_skills,
};
use proptest::prelude::*;
use tempfile::TempDir;

fn write(file: &Path, content: impl AsRef<[u8]>) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content).unwrap();
}

fn agent(name: &str) -> String {
    format!("---\nname: {name}\ndescription: about {name}\n---\nYou are {name}.\n")
}

fn skill(keys: &str) -> String {
    format!("---\n{keys}\n---\nHow to do it.\n")
}

/// Of one folder with one file, `a.md`.
fn one_agent(content: impl AsRef<[u8]>) -> Result<AgentDefinition, DefinitionFailure> {
    let folder = TempDir::new().unwrap();
    write(&folder.path().join("a.md"), content);
    let agents = load_agents(&[folder.path().to_path_buf()])?;
    let mut others: Vec<_> = agents.into_iter().filter(|agent| agent.name != GENERAL_PURPOSE).collect();
    assert_eq!(others.len(), 1);
    Ok(others.remove(0))
}

/// Of one folder with one skill, whose folder has this name.
fn one_skill(folder_name: &str, content: impl AsRef<[u8]>) -> Result<Skill, DefinitionFailure> {
    let folder = TempDir::new().unwrap();
    write(&folder.path().join(folder_name).join("SKILL.md"), content);
    let mut skills = load_skills(&[folder.path().to_path_buf()])?;
    assert_eq!(skills.len(), 1);
    Ok(skills.remove(0))
}

fn agent_names(folders: &[&Path]) -> Vec<String> {
    let folders: Vec<PathBuf> = folders.iter().map(|folder| folder.to_path_buf()).collect();
    load_agents(&folders).unwrap().into_iter().map(|agent| agent.name).collect()
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(result: Result<T, DefinitionFailure>, noun: &str, file: &Path, problem: &str) {
    let failure = result.unwrap_err();
    assert_eq!(failure.file, file.display().to_string());
    let start = format!("Invalid {noun} {}: ", file.display());
    let rest = failure.message.strip_prefix(&start).unwrap_or_else(|| panic!("{}", failure.message));
    assert!(rest.contains(problem), "{rest}");
    assert_eq!(failure.to_string(), failure.message);
}

#[test]
fn without_files_there_is_the_agent_that_is_built_in_and_no_skill() {
    let folder = TempDir::new().unwrap();
    let missing = folder.path().join("none").join("agents");
    let agents = load_agents(&[missing.clone(), folder.path().to_path_buf()]).unwrap();
    assert_eq!(agents.len(), 1);
    let general = &agents[0];
    assert_eq!((&*general.name, &general.tools, &general.model), (GENERAL_PURPOSE, &None, &None));
    assert!(!general.description.is_empty() && general.prompt.contains("report"));
    assert_eq!(load_agents(&[]).unwrap(), agents);
    assert_eq!(load_skills(&[missing, folder.path().to_path_buf()]).unwrap(), []);
}

#[test]
fn an_agent_is_read_whole() {
    let content = "\u{feff}---\r\nname: Re-view_2\r\ndescription: >\r\n  Reads code\r\n  closely.\r\n\
                   tools: [read_file, grep, read_file]\r\nmodel: complex\r\ncolor: {of: [no, concern]}\r\n---\r\n\
                   \r\nYou review.\r\n\r\n---\r\nEnd.\r\n";
    let expected = AgentDefinition {
        name: "Re-view_2".into(),
        description: "Reads code closely.".into(),
        tools: Some(vec!["read_file".into(), "grep".into()]),
        model: Some("complex".into()),
        prompt: "You review.\r\n\r\n---\r\nEnd.".into(),
    };
    assert_eq!(one_agent(content), Ok(expected));
}

#[test]
fn tools_are_a_list_or_words_with_commas_between() {
    for (tools, expected) in [
        ("", None),
        ("tools: []\n", Some(vec![])),
        ("tools: [a, b]\n", Some(vec!["a", "b"])),
        ("tools:\n  - a\n  - ' b '\n  - a\n", Some(vec!["a", "b"])),
        ("tools: a,b , c,a\n", Some(vec!["a", "b", "c"])),
        ("tools: a\n", Some(vec!["a"])),
    ] {
        let read = one_agent(format!("---\nname: a\ndescription: b\n{tools}---\nc\n")).unwrap();
        let expected: Option<Vec<String>> = expected.map(|words| words.into_iter().map(str::to_string).collect());
        assert_eq!(read.tools, expected, "{tools:?}");
    }
}

#[test]
fn an_agent_that_is_not_well_formed_is_refused_with_key_line_and_what_was_expected() {
    let long = format!("---\nname: {}\ndescription: b\n---\nc", "x".repeat(65));
    for (content, problem) in [
        ("", "line 1: expected a line \"---\""),
        ("name: a\n", "line 1: expected a line \"---\""),
        ("---\nname: a\ndescription: b\nc\n", "has no end"),
        ("---\nname: a\ndescription: b\n---\n \n\t\n", "expected the agent's system prompt behind the front matter"),
        ("---\nname: a\ndescription: use when: b\n---\nc", "line 3, column 22: expected YAML, but: mapping values"),
        ("---\nname: a\nname: b\n---\nc", "line 3: the key \"name\" is there twice"),
        ("---\n---\nc", "expected a key \"name\" in the front matter, which is missing"),
        ("---\nname: a\n---\nc", "expected a key \"description\" in the front matter, which is missing"),
        ("---\nname: a\n\ndescripton: b\n---\nc", "line 4: unknown key \"descripton\"; did you mean \"description\"?"),
        ("---\nNAME: a\ndescription: b\n---\nc", "line 2: unknown key \"NAME\"; did you mean \"name\"?"),
        ("---\nname: a\ndescription: b\ntols: c\n---\nc", "line 4: unknown key \"tols\"; did you mean \"tools\"?"),
        ("---\nname: a\ndescription: b\nmodle: c\n---\nc", "line 4: unknown key \"modle\"; did you mean \"model\"?"),
        ("---\nname: 12\ndescription: b\n---\nc", "name (line 2): expected a string, got a number"),
        ("---\nname: a b\ndescription: b\n---\nc", "name (line 2): expected a name of 1 to 64 letters"),
        ("---\nname: a b\ndescription: b\n---\nc", "got \"a b\""),
        ("---\nname: ä\ndescription: b\n---\nc", "name (line 2): expected a name of"),
        (&*long, "name (line 2): expected a name of"),
        ("---\nname: a\ndescription:\n---\nc", "description (line 3): expected a string, got nothing"),
        ("---\nname: a\ndescription: ' '\n---\nc", "description (line 3): expected a string, got an empty one"),
        ("---\nname: a\ndescription: [b]\n---\nc", "description (line 3): expected a string, got a list"),
        ("---\nname: a\ndescription: b\nmodel: true\n---\nc", "model (line 4): expected a string, got a boolean"),
        ("---\nname: &x a\ndescription: *x\n---\nc", "description (line 3): expected a string, got an alias"),
        (
            "---\nname: a\ndescription: b\ntools:\n---\nc",
            "tools (line 4): expected a list of strings ([] for none), or",
        ),
        ("---\nname: a\ndescription: b\ntools: {a: b}\n---\nc", "tools (line 4): expected a list of strings"),
        (
            "---\nname: a\ndescription: b\ntools:\n  - a\n  - 1\n---\nc",
            "tools (line 6): expected a string as each element",
        ),
        ("---\nname: a\ndescription: b\ntools: a,,b\n---\nc", "tools (line 4): expected words that are not empty"),
        ("---\nname: a\ndescription: b\ntools: ''\n---\nc", "tools (line 4): expected words that are not empty"),
    ] {
        let failure = one_agent(content).unwrap_err();
        assert!(failure.file.ends_with("/a.md"), "{failure}");
        assert!(failure.message.starts_with(&format!("Invalid agent definition {}: ", failure.file)), "{failure}");
        assert!(failure.message.contains(problem), "{content:?}: {failure}");
    }
}

#[test]
fn later_folders_win_and_the_built_in_agent_can_be_replaced() {
    let (home, project) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write(&home.path().join("x.md"), agent("both"));
    write(&home.path().join("y.md"), agent("Home"));
    write(&project.path().join("other.md"), agent("both").replace("about", "the project's"));
    write(&project.path().join("z.md"), agent(GENERAL_PURPOSE));
    let agents = load_agents(&[home.path().to_path_buf(), project.path().to_path_buf()]).unwrap();
    let described: Vec<_> = agents.iter().map(|agent| &*agent.description).collect();
    assert_eq!(described, ["about Home", "the project's both", "about general-purpose"]);
    // One folder under two names is no quarrel with itself.
    assert_eq!(agent_names(&[home.path(), home.path()]), ["Home", "both", GENERAL_PURPOSE]);
}

#[test]
fn only_markdown_files_directly_in_the_folder_count() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(&at("a.md"), agent("a"));
    for name in [".hidden.md", ".md", "README.txt", "b.MD", "b.md.bak", "deeper/b.md"] {
        write(&at(name), "no definition");
    }
    symlink("/nowhere", at(".md-link.md")).unwrap();
    symlink("/nowhere", at("link.txt")).unwrap();
    let elsewhere = TempDir::new().unwrap();
    write(&elsewhere.path().join("real"), agent("linked"));
    symlink(elsewhere.path().join("real"), at("l.md")).unwrap();
    assert_eq!(agent_names(&[folder.path()]), ["a", GENERAL_PURPOSE, "linked"]);
}

#[test]
fn what_has_an_agents_name_and_is_no_file_that_can_be_read_is_refused() {
    let big = [agent("a").into_bytes(), vec![b'x'; MAX_FILE_BYTES]].concat();
    let refused = |make: &dyn Fn(&Path), problem: &str| {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("x.md");
        make(&file);
        assert_refused(load_agents(&[folder.path().to_path_buf()]), "agent definition", &file, problem);
    };
    refused(&|file| fs::create_dir(file).unwrap(), "expected a regular file, got a folder");
    refused(&|file| symlink("/nowhere", file).unwrap(), "got a link whose target does not exist");
    refused(&|file| symlink("x.md", file).unwrap(), "expected a file that can be read, got: ");
    refused(&|file| symlink("/dev/null", file).unwrap(), "expected a regular file, got a pipe, a socket or a device");
    refused(&|file| drop(UnixListener::bind(file).unwrap()), "got a pipe, a socket or a device");
    refused(&|file| write(file, &big), "expected at most 262144 bytes (256 KiB), got more");
    refused(&|file| write(file, b"---\nname: a\ndescription: \xff\n---\nb"), "line 3: expected UTF-8");
    let file = format!("{}{}", agent("a"), "x".repeat(MAX_FILE_BYTES - agent("a").len()));
    assert_eq!(one_agent(file).unwrap().name, "a");
}

#[test]
fn below_a_file_there_is_nothing() {
    let folder = TempDir::new().unwrap();
    write(&folder.path().join("file"), "");
    assert_eq!(agent_names(&[&folder.path().join("file/agents")]), [GENERAL_PURPOSE]);
}

#[test]
fn a_folder_that_is_there_and_cannot_be_read_is_refused() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(&at("file"), "");
    symlink("/nowhere", at("link")).unwrap();
    for (path, problem) in [
        (at("file"), format!("expected a folder at {}, which is none", at("file").display())),
        (at("link"), format!("{} is a link whose target does not exist", at("link").display())),
        (at("link/agents"), format!("{} is a link whose target does not exist", at("link").display())),
    ] {
        assert_refused(load_agents(std::slice::from_ref(&path)), "agent definition", &path, &problem);
        assert_refused(load_skills(std::slice::from_ref(&path)), "skill", &path, &problem);
    }
    let closed = at("closed");
    write(&closed.join("a/SKILL.md"), skill("description: b"));
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads whatever it likes.
    if fs::read_dir(&closed).is_err() {
        assert_refused(load_skills(std::slice::from_ref(&closed)), "skill", &closed, "a folder that can be read");
    } else {
        assert_eq!(load_skills(std::slice::from_ref(&closed)).unwrap().len(), 1);
    }
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn one_name_twice_in_one_folder_names_both_files() {
    let folder = TempDir::new().unwrap();
    let (first, second) = (folder.path().join("a.md"), folder.path().join("b.md"));
    write(&second, agent("same"));
    write(&first, agent("same"));
    let problem = format!("the name \"same\" is taken by {}", first.display());
    assert_refused(load_agents(&[folder.path().to_path_buf()]), "agent definition", &second, &problem);

    let folder = TempDir::new().unwrap();
    let (first, second) = (folder.path().join("a/SKILL.md"), folder.path().join("b/SKILL.md"));
    write(&first, skill("name: b\ndescription: c"));
    write(&second, skill("description: d"));
    let problem = format!("the name \"b\" is taken by {}", first.display());
    assert_refused(load_skills(&[folder.path().to_path_buf()]), "skill", &second, &problem);
}

#[test]
fn two_hundred_are_accepted_and_one_more_is_not() {
    let (folder, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let both = [folder.path().to_path_buf(), other.path().to_path_buf()];
    for index in 0..MAX_DEFINITIONS {
        write(&folder.path().join(format!("a{index}.md")), agent(&format!("a{index}")));
        write(&folder.path().join(format!("s{index}/SKILL.md")), skill("description: b"));
    }
    write(&other.path().join("a0.md"), agent("a0"));
    write(&other.path().join("s0/SKILL.md"), skill("description: b"));
    assert_eq!(load_agents(&both).unwrap().len(), MAX_DEFINITIONS + 1);
    assert_eq!(load_skills(&both).unwrap().len(), MAX_DEFINITIONS);

    let (file, skill_file) = (other.path().join("more.md"), other.path().join("more/SKILL.md"));
    write(&file, agent("more"));
    write(&skill_file, skill("description: b"));
    let problem = "expected at most 200 of them in all folders, and this is one more";
    assert_refused(load_agents(&both), "agent definition", &file, problem);
    assert_refused(load_skills(&both), "skill", &skill_file, problem);

    write(&folder.path().join("more.md"), agent("more"));
    write(&folder.path().join("more/SKILL.md"), skill("description: b"));
    let problem = "expected at most 200 of them in this folder, got 201";
    assert_refused(load_agents(&both), "agent definition", folder.path(), problem);
    assert_refused(load_skills(&both), "skill", folder.path(), problem);
}

#[test]
fn a_skill_is_read_and_its_body_only_when_it_is_asked_for() {
    let folder = TempDir::new().unwrap();
    let skill_folder = folder.path().join("tables");
    let file = skill_folder.join("SKILL.md");
    write(&file, "---\ndescription: Reads tables.\ntags: csv, data\nlicense: MIT\n---\n\n# Tables\n\ntext\n");
    let skills = load_skills(&[folder.path().to_path_buf()]).unwrap();
    let expected = Skill {
        name: "tables".into(),
        description: "Reads tables.".into(),
        tags: vec!["csv".into(), "data".into()],
        folder: skill_folder,
    };
    assert_eq!(skills, [expected]);
    let skill = &skills[0];
    assert_eq!(skill.read(), Ok("# Tables\n\ntext".to_string()));

    // What is wrong with its keys by now does not keep the body.
    fs::write(&file, "\u{feff}---\r\n: [\r\n---\r\nnewer\r\n").unwrap();
    assert_eq!(skill.read(), Ok("newer".to_string()));
    fs::write(&file, "---\n---\n").unwrap();
    assert_eq!(skill.read(), Ok(String::new()));

    let start = format!("Invalid skill {}: ", file.display());
    let unreadable = |problem: &str| {
        let error = skill.read().unwrap_err();
        assert!(error.starts_with(&start) && error.contains(problem), "{error}");
    };
    fs::write(&file, "none").unwrap();
    unreadable("expected a line \"---\"");
    fs::write(&file, vec![b'x'; MAX_FILE_BYTES + 1]).unwrap();
    unreadable("expected at most 262144 bytes");
    fs::write(&file, b"---\n---\n\xff").unwrap();
    unreadable("line 3: expected UTF-8");
    fs::remove_file(&file).unwrap();
    unreadable("expected a file that can be read, got: No such file");
    symlink("/nowhere", &file).unwrap();
    unreadable("a link whose target does not exist");
    fs::remove_file(&file).unwrap();
    symlink("/dev/zero", &file).unwrap();
    unreadable("expected a regular file");
}

#[test]
fn a_skills_keys_are_checked() {
    assert_eq!(one_skill("x y", skill("name: z\ndescription: b\ntags: [c]")).unwrap().name, "z");
    assert_eq!(one_skill("x", skill("description: b")).unwrap().tags, Vec::<String>::new());
    for (folder, content, problem) in [
        ("x", "How to.".to_string(), "line 1: expected a line \"---\""),
        ("x", skill("name: a"), "expected a key \"description\" in the front matter, which is missing"),
        ("x", skill("desciption: a"), "line 2: unknown key \"desciption\"; did you mean \"description\"?"),
        ("x", skill("description: a\ntag: b"), "line 3: unknown key \"tag\"; did you mean \"tags\"?"),
        ("x", skill("description: a\ntags: 1"), "tags (line 3): expected a list of strings"),
        ("x", skill("name: 'a/b'\ndescription: a"), "name (line 2): expected a name of 1 to 64"),
        ("x y", skill("description: a"), "expected a key \"name\", for the name of the folder cannot be the skill's"),
    ] {
        let failure = one_skill(folder, content).unwrap_err();
        assert!(failure.message.starts_with(&format!("Invalid skill {}: ", failure.file)), "{failure}");
        assert!(failure.file.ends_with("/SKILL.md") && failure.message.contains(problem), "{failure}");
    }
}

#[test]
fn only_folders_with_a_skill_file_are_skills() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(&at("a/SKILL.md"), skill("description: b"));
    for name in [".hidden/SKILL.md", "SKILL.md", "shared/notes.md", "deep/deeper/SKILL.md", "README.md"] {
        write(&at(name), "no skill");
    }
    let elsewhere = TempDir::new().unwrap();
    write(&elsewhere.path().join("SKILL.md"), skill("description: c"));
    symlink(elsewhere.path(), at("linked")).unwrap();
    symlink(at("README.md"), at("link-to-file")).unwrap();
    symlink("/nowhere", at(".link")).unwrap();
    let folders = [folder.path().to_path_buf()];
    let skills = load_skills(&folders).unwrap();
    let found: Vec<_> = skills.iter().map(|skill| (&*skill.name, skill.folder.clone())).collect();
    assert_eq!(found, [("a", at("a")), ("linked", at("linked"))]);

    let refused = |path: &Path, problem: &str| assert_refused(load_skills(&folders), "skill", path, problem);
    fs::create_dir_all(at("z/SKILL.md")).unwrap();
    refused(&at("z/SKILL.md"), "expected a regular file, got a folder");
    fs::remove_dir_all(at("z")).unwrap();
    fs::create_dir(at("z")).unwrap();
    symlink("/nowhere", at("z/SKILL.md")).unwrap();
    refused(&at("z/SKILL.md"), "got a link whose target does not exist");
    symlink("/nowhere", at("y")).unwrap();
    refused(&at("y"), "expected a folder, got a link whose target does not exist");
}

#[test]
fn hostile_front_matter_is_refused_or_costs_nothing() {
    let bomb: String = (1..500).fold("z0: &z0 [x, x]\n".to_string(), |yaml, level| {
        format!("{yaml}z{level}: &z{level} [*z{0}, *z{0}]\n", level - 1)
    });
    let read = one_agent(format!("---\nname: a\ndescription: b\n{bomb}---\nc\n")).unwrap();
    assert_eq!((&*read.name, &*read.description), ("a", "b"));
    let refused = one_agent(format!("---\nname: a\ndescription: b\n{bomb}tools: *z499\n---\nc\n")).unwrap_err();
    assert!(refused.message.contains("tools (line 504): expected a list of strings"), "{refused}");
    for deep in ["[", "{a: ", "- ", "? "] {
        let content = format!("---\nname: a\ndescription: b\nx:\n  {}\n---\nc\n", deep.repeat(60_000));
        let refused = one_agent(content).unwrap_err().message;
        assert!(refused.contains("nested too deeply") || refused.contains("recursion"), "{refused}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Against a map that does what the sentence says: the last folder counts, each name once, sorted.
    #[test]
    fn the_last_folder_wins_whatever_the_order_of_the_files(
        folders in prop::collection::vec(prop::collection::btree_map("[a-cA-C_-]{1,2}", "[a-z]{1,6}", 0..6), 0..4),
        shuffled in any::<bool>(),
    ) {
        let root = TempDir::new().unwrap();
        let mut expected = BTreeMap::new();
        let mut paths = Vec::new();
        for (index, names) in folders.iter().enumerate() {
            let folder = root.path().join(index.to_string());
            let mut files: Vec<_> = names.iter().collect();
            if shuffled {
                files.reverse();
            }
            for (name, prompt) in files {
                let content = format!("---\nname: \"{name}\"\ndescription: d\n---\n{prompt}\n");
                write(&folder.join(format!("{name}.md")), content);
                expected.insert(name.clone(), prompt.clone());
            }
            paths.push(folder);
        }
        let agents = load_agents(&paths).unwrap();
        let others = agents.into_iter().filter(|agent| agent.name != GENERAL_PURPOSE);
        let found: Vec<_> = others.map(|agent| (agent.name, agent.prompt)).collect();
        prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
    }
}
