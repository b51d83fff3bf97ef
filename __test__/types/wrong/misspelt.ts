// Must fail to compile, once a mistake: the proof that the other type tests are really checked.

import { createLiteAgent } from "lite-agent";
import type { ModelProvider } from "lite-agent";

declare const model: ModelProvider;
const agent = createLiteAgent({ model, workdir: ".", maxTurn: 3 });
agent.hook("run:ended", () => {});
