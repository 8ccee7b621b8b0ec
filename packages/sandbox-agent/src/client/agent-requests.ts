/** The agent requests that await a reply: permission requests and questions. The first reply settles a request. */

import {
  choosePermission,
  grantedBy,
  type PermissionReply,
  type PermissionRequest,
  permissionAnswer,
  permissionCancelled,
  readPermission,
  replyOf,
} from "../convert/permissions.ts";
import {
  type Answers,
  elicitationAccepted,
  elicitationDeclined,
  firstAnswer,
  type Question,
  questionAnswered,
  questionRejected,
  readElicitation,
  readQuestion,
} from "../convert/questions.ts";
import { NotFoundError, SandboxAgentError } from "../errors.ts";
import type { EventBody, ToolDetails } from "../events.ts";
import { compact, type JsonObject } from "../json.ts";

/** The decision about a permission request: a generic reply, or one of the request's own options. */
export type PermissionDecision = PermissionReply | { readonly optionId: string };

// biome-ignore lint/suspicious/noConfusingVoidType: a handler that replies later, by a call, returns nothing
type Decided<T> = T | void;

/** The result of a handler: a reply, or nothing. */
export type Reply<T> = Decided<T> | Promise<Decided<T>>;

/** Handles permission requests. A result other than `undefined` is the reply. */
export type PermissionHandler = (request: PermissionRequest) => Reply<PermissionDecision>;

/** Handles questions. A result other than `undefined` is the answer; `null` rejects the question. */
export type QuestionHandler = (question: Question) => Reply<Answers | null>;

/** Reports an event of a session. `params` are the parameters of the agent request that the event is made from. */
export type Report = (sessionId: string, body: EventBody, params?: unknown) => void;

/** The id and the abort signal of an agent request. */
export interface RequestContext {
  /** The request's id on this connection. */
  readonly id: unknown;
  /** A signal that is aborted when the agent withdraws the request or another client answers it. */
  readonly signal: AbortSignal;
}

interface Pending {
  readonly sessionId: string;
  readonly wireId: string;
  readonly permission?: PermissionRequest;
  readonly question?: Question;
  readonly isForm: boolean;
  isOffered: boolean;
  settle(answer: JsonObject): void;
}

/** The open agent requests of one client. */
export interface AgentRequests {
  /**
   * Registers a permission request; resolves with the response for the agent. `known` is what the agent has already
   * sent about the tool call.
   */
  permission(
    sessionId: string,
    params: unknown,
    context: RequestContext,
    known: ToolDetails | undefined,
  ): Promise<JsonObject>;
  /** Registers a question; resolves with the response for the agent. A `form` is an elicitation of the protocol. */
  question(sessionId: string, params: unknown, context: RequestContext, kind: "question" | "form"): Promise<JsonObject>;
  /** Records that another client answered the request with this id. */
  answeredElsewhere(wireId: unknown): void;
  replyPermission(permissionId: string, decision: PermissionDecision): void;
  replyQuestion(questionId: string, answers: Answers): void;
  rejectQuestion(questionId: string): void;
  onPermission(handler: PermissionHandler): () => void;
  onQuestion(handler: QuestionHandler): () => void;
  /** Answers all open requests of a session, because its turn is cancelled. */
  cancel(sessionId: string): void;
  /** The open permission requests. */
  permissions(): readonly PermissionRequest[];
  /** The open questions. */
  questions(): readonly Question[];
}

/** Makes an empty registry. */
export function createAgentRequests(report: Report): AgentRequests {
  const open = new Map<string, Pending>();
  const elsewhere = new Set<string>();
  const permissionHandlers = new Set<PermissionHandler>();
  const questionHandlers = new Set<QuestionHandler>();

  const uniqueId = (wanted: string): string => {
    let id = wanted;
    for (let count = 2; open.has(id); count += 1) id = `${wanted}#${count}`;
    return id;
  };

  const waitForReply = (
    id: string,
    pending: Omit<Pending, "settle" | "isOffered">,
    context: RequestContext,
  ): Promise<JsonObject> =>
    new Promise((resolve, reject) => {
      const withdraw = (): void => {
        if (!open.delete(id)) return;
        const by = elsewhere.delete(pending.wireId) ? "elsewhere" : "withdrawn";
        const body: EventBody = pending.permission
          ? { type: "permission.resolved", permissionId: id, by }
          : { type: "question.resolved", questionId: id, by };
        report(pending.sessionId, body);
        reject(new SandboxAgentError("withdrawn", "the request is no longer open"));
      };
      const settle = (answer: JsonObject): void => {
        open.delete(id);
        context.signal.removeEventListener("abort", withdraw);
        resolve(answer);
      };
      open.set(id, { ...pending, isOffered: false, settle });
      if (context.signal.aborted) withdraw();
      else context.signal.addEventListener("abort", withdraw, { once: true });
      offer();
    });

  /** Passes every open request to its handlers, if there are any. Passes a request only once. */
  const offer = (): void => {
    for (const [id, pending] of [...open]) {
      const { permission, question } = pending;
      if (pending.isOffered) continue;
      if (permission && permissionHandlers.size > 0) {
        pending.isOffered = true;
        for (const handler of permissionHandlers)
          callHandler(pending, handler, permission, (reply) => replyPermission(id, reply));
      } else if (question && questionHandlers.size > 0) {
        pending.isOffered = true;
        for (const handler of questionHandlers) {
          callHandler(pending, handler, question, (answers) =>
            answers === null ? rejectQuestion(id) : replyQuestion(id, answers),
          );
        }
      }
    }
  };
  const callHandler = async <Request, Answer>(
    pending: Pending,
    handler: (request: Request) => Reply<Answer>,
    request: Request,
    settle: (answer: Answer) => void,
  ): Promise<void> => {
    try {
      const reply = await handler(request);
      // Several handlers may reply; the first reply counts.
      if (reply !== undefined && [...open.values()].includes(pending)) settle(reply as Answer);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      report(pending.sessionId, { type: "error", code: "handler_failed", message });
    }
  };

  const find = (id: string, what: "permission" | "question"): Pending => {
    const pending = open.get(id);
    if (!pending?.[what]) throw new NotFoundError(`open ${what}`, id);
    return pending;
  };
  const replyPermission = (permissionId: string, decision: PermissionDecision): void => {
    const { permission, sessionId, settle } = find(permissionId, "permission");
    const options = permission?.options ?? [];
    const reply = typeof decision === "string" ? decision : undefined;
    const named = typeof decision === "string" ? undefined : options.find(({ id }) => id === decision.optionId);
    if (typeof decision !== "string" && !named) throw new NotFoundError("option", decision.optionId);
    const choice = named ? { option: named, isFallback: false } : choosePermission(options, reply ?? "reject");
    settle(permissionAnswer(choice, reply));
    const body = { type: "permission.resolved" as const, permissionId, by: "client" as const };
    const resolved = { reply: reply ?? (named && replyOf(named)), granted: grantedBy(choice) };
    report(sessionId, compact({ ...body, ...resolved, optionId: choice.option?.id }));
    if (choice.option || reply === "reject") return;
    const message = `the agent offers no option for "${reply}": its request was cancelled and nothing was granted`;
    report(sessionId, { type: "error", code: "permission_not_offered", message });
  };
  const replyQuestion = (questionId: string, answers: Answers): void => {
    const { question, sessionId, isForm, settle } = find(questionId, "question");
    settle(isForm && question ? elicitationAccepted(question, answers) : questionAnswered(answers));
    const body = { type: "question.resolved" as const, questionId, by: "client" as const };
    report(sessionId, compact({ ...body, status: "answered" as const, answers, response: firstAnswer(answers) }));
  };
  const rejectQuestion = (questionId: string): void => {
    const { sessionId, isForm, settle } = find(questionId, "question");
    settle(isForm ? elicitationDeclined() : questionRejected());
    report(sessionId, { type: "question.resolved", questionId, by: "client", status: "rejected" });
  };

  return {
    permission(sessionId, params, context, known) {
      const permissionId = uniqueId(String(context.id));
      const permission = readPermission(params, { permissionId, sessionId }, known);
      report(sessionId, { type: "permission.requested", permission }, params);
      return waitForReply(permissionId, { sessionId, wireId: String(context.id), permission, isForm: false }, context);
    },
    question(sessionId, params, context, kind) {
      const read = kind === "form" ? readElicitation : readQuestion;
      const given = read(params, { questionId: String(context.id), sessionId });
      const question = { ...given, questionId: uniqueId(given.questionId) };
      report(sessionId, { type: "question.requested", question, status: "requested" }, params);
      const pending = { sessionId, wireId: String(context.id), question, isForm: kind === "form" };
      return waitForReply(question.questionId, pending, context);
    },
    answeredElsewhere(wireId) {
      const isOpen = [...open.values()].some((pending) => pending.wireId === String(wireId));
      if (isOpen) elsewhere.add(String(wireId));
    },
    replyPermission,
    replyQuestion,
    rejectQuestion,
    onPermission(handler) {
      permissionHandlers.add(handler);
      offer();
      return () => permissionHandlers.delete(handler);
    },
    onQuestion(handler) {
      questionHandlers.add(handler);
      offer();
      return () => questionHandlers.delete(handler);
    },
    cancel(sessionId) {
      for (const [id, pending] of [...open]) {
        if (pending.sessionId !== sessionId) continue;
        if (pending.question) rejectQuestion(id);
        else {
          pending.settle(permissionCancelled());
          const body = { type: "permission.resolved" as const, permissionId: id, by: "client" as const };
          report(sessionId, { ...body, reply: "reject", granted: "nothing" });
        }
      }
    },
    permissions: () => [...open.values()].flatMap(({ permission }) => permission ?? []),
    questions: () => [...open.values()].flatMap(({ question }) => question ?? []),
  };
}
