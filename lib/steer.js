// SteerController: input that a host hands to a run which is already going. It only holds what was handed in, checked
// and frozen at that moment; when it is taken is the run's affair.

import { copyUserMessage } from "./messages.js";

const NONE = Object.freeze([]);

let takeSteered;
let takeFollowUps;
let pendingCount;
let isSteerController;

/** Input for a run that is already going, taken at turn boundaries. */
export class SteerController {
  #steered = [];
  #followUps = [];

  /**
   * Joins the conversation at the next turn.
   * @param {string | object} content a text, or a message of the role `user`
   * @throws {TypeError} when it is anything else, or empty
   */
  steer(content) {
    this.#steered.push(copyUserMessage(content, "content"));
  }

  /**
   * Goes on with the run when it would stop. Takes and throws what `steer` does.
   * @param {string | object} content
   */
  followUp(content) {
    this.#followUps.push(copyUserMessage(content, "content"));
  }

  // The queues are no part of the public class; the run reaches them through these functions.
  static {
    takeSteered = (controller) => {
      const taken = controller.#steered;
      if (taken.length === 0) return NONE;
      controller.#steered = [];
      return taken;
    };
    takeFollowUps = (controller) => {
      const taken = controller.#followUps;
      if (taken.length === 0) return NONE;
      controller.#followUps = [];
      return taken;
    };
    pendingCount = (controller) => controller.#steered.length + controller.#followUps.length;
    isSteerController = (value) => typeof value === "object" && value !== null && #steered in value;
  }
}

export {
  /** The steered messages so far, frozen, oldest first; the controller forgets them. */
  takeSteered,
  /** The follow-ups so far, frozen, oldest first; the controller forgets them. */
  takeFollowUps,
  /** How many messages wait to be taken. */
  pendingCount,
  /** Whether the value is a SteerController, a derived one included. */
  isSteerController,
};
