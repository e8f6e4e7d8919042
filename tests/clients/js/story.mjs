// The JavaScript A2A SDK against a running system: `node story.mjs ORIGIN BINDING WEBHOOK`, with
// A2A_NODE_MODULES naming the folder that holds the SDK.
//
// Prints what it did, a line each. Ends with the reason and a status that is not zero at the first
// answer that is not the expected one. The Python story (../python/story.py) tells the same.

import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';

// A module's imports do not look where a variable says; `require` can be told to.
const require = createRequire(join(process.env.A2A_NODE_MODULES, 'anchor.js'));
const { AgentCardResolver, ClientFactory, ClientFactoryOptions } = require('@a2a-js/sdk/client');
const {
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTasksRequest,
  Role,
  SendMessageRequest,
  SubscribeToTaskRequest,
  TaskPushNotificationConfig,
  TaskState,
} = require('@a2a-js/sdk');
const errors = require('@a2a-js/sdk/errors');

const [origin, binding, webhook] = process.argv.slice(2);
const SALES = 'Analyze sales of 10, 20 and 30 dollars. Give me a CSV and a useful downloadable report.';
const DOZEN = 'One, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve.';
const {
  TASK_STATE_SUBMITTED,
  TASK_STATE_WORKING,
  TASK_STATE_INPUT_REQUIRED,
  TASK_STATE_COMPLETED,
  TASK_STATE_CANCELED,
} = TaskState;

const equal = (found, expected, what) => assert.deepEqual(found, expected, new Unexpected(what, found, expected));

class Unexpected extends Error {
  constructor(what, found, expected) {
    super(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
  }
}

/** What is tried must fail, with this reason of the protocol in the SDK's error. */
async function refused(reason, attempt, what) {
  try {
    await attempt();
  } catch (error) {
    equal(reason(error), true, `${what}: ${error.constructor.name}: ${error.message}: the expected error`);
    return;
  }
  assert.fail(`${what}: it was not refused`);
}

const is = (name) => (error) => error instanceof errors[name];

function asking(text, { messageId = randomUUID(), ...configuration } = {}) {
  const message = { messageId, role: 'ROLE_USER', parts: [{ text }] };
  return SendMessageRequest.fromJSON({ message, configuration });
}

/** The address of an agent; the slash lets the SDK look for the card below it. */
const address = (agent) => `${origin}/a2a/${agent}/`;

/** A client of its own, as another program would have one. */
function client(agent) {
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    preferredTransports: [binding],
  });
  return new ClientFactory(options).createFromUrl(address(agent));
}

async function collect(stream) {
  const events = [];
  for await (const event of stream) events.push(event.payload);
  return events;
}

const text = (parts = []) =>
  parts.map((part) => (part.content.$case === 'text' ? part.content.value : '')).join('');

/** Artifacts put together from updates, as A2A section 4.2.2 has it. */
class Artifacts extends Map {
  static of(task) {
    return new Artifacts(task.artifacts.map((artifact) => [artifact.name, [...artifact.parts]]));
  }

  apply({ artifact, append }) {
    if (append) this.get(artifact.name).push(...artifact.parts);
    else this.set(artifact.name, [...artifact.parts]);
  }
}

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** The CSV and the report: their content, and that their digests are those of their bytes. */
function checkDeliverables(artifacts, how) {
  const files = new Map([...artifacts].filter(([, parts]) => parts[0].filename));
  equal([...files.keys()].sort(), ['report.md', 'sales.csv'], `${how}: the deliverables`);
  const bytes = {};
  for (const [name, parts] of files) {
    equal(parts.length, 1, `${how}: Parts of ${name}`);
    equal(parts[0].filename, name, `${how}: the file name`);
    equal(parts[0].content.$case, 'raw', `${how}: how ${name} travels`);
    bytes[name] = Buffer.from(parts[0].content.value);
    equal(sha256(bytes[name]), parts[0].metadata.cognition.sha256, `${how}: the digest of ${name}`);
  }
  equal(files.get('sales.csv')[0].mediaType, 'text/csv', `${how}: media type of the CSV`);
  equal(files.get('report.md')[0].mediaType, 'text/markdown', `${how}: media type of the report`);
  const [header, ...rows] = bytes['sales.csv'].toString().trim().split('\n').map((row) => row.split(','));
  const amount = header.indexOf('amount_usd');
  equal(rows.map((row) => row[amount]), ['10', '20', '30'], `${how}: amounts of the CSV`);
  assert.match(bytes['report.md'].toString(), /total of 60 USD/, `${how}: the report tells the total`);
  assert.match(text(artifacts.get('response')), /60 USD[^]*sales\.csv/, `${how}: the answer names both`);
}

async function cards() {
  const card = await AgentCardResolver.default.resolve(address('analyst'));
  equal(card.name, 'Sales analyst', "the card's name");
  equal(
    card.supportedInterfaces.filter((i) => i.protocolVersion === '1.0').map((i) => i.protocolBinding),
    ['JSONRPC', 'HTTP+JSON'],
    "the card's interfaces",
  );
  equal(card.capabilities.streaming, true, 'the card says that it streams');
  equal(card.skills.map((skill) => skill.id), ['analyze'], "the card's skills");
  equal(await AgentCardResolver.default.resolve(origin), card, 'the card of the origin');
  console.log("card: found below the agent's address and at the origin");
}

async function send() {
  const analyst = await client('analyst');
  equal(analyst.transport.protocolName, binding, 'the binding that the SDK chose');
  const request = asking(SALES);
  const task = await analyst.sendMessage(request);
  equal(task.status.state, TASK_STATE_COMPLETED, 'the state after a blocking send');
  checkDeliverables(Artifacts.of(task), 'send');
  equal((await analyst.sendMessage(request)).id, task.id, 'the task of the same message sent again');
  const other = asking('Analyze 1 and 2.', { messageId: request.message.messageId });
  await refused(is('RequestMalformedError'), () => analyst.sendMessage(other), 'a messageId reused');
  console.log('send: completed with two deliverables; sent again it is the same task');
  return task;
}

async function large() {
  const task = await (await client('bulky')).sendMessage(asking('Go.'));
  equal(task.status.state, TASK_STATE_COMPLETED, 'the state of the bulky task');
  const [part] = Artifacts.of(task).get('lines.txt');
  equal(part.content.$case, 'url', 'how a large file travels');
  const download = await fetch(part.content.value);
  equal(download.status, 200, "the download's status");
  const bytes = Buffer.from(await download.arrayBuffer());
  equal(bytes.length, 300_000, "the download's size");
  equal(sha256(bytes), part.metadata.cognition.sha256, "the download's digest");
  console.log('send: a large file came as an address, and its bytes are the announced ones');
}

async function stream() {
  const analyst = await client('analyst');
  const [first, ...rest] = await collect(analyst.sendMessageStream(asking(SALES)));
  equal(first.$case, 'task', 'how a stream begins');
  const task = first.value;
  assert([TASK_STATE_SUBMITTED, TASK_STATE_WORKING].includes(task.status.state), 'it begins unfinished');
  const artifacts = new Artifacts();
  for (const { $case, value } of rest) {
    equal([value.taskId, value.contextId], [task.id, task.contextId], `the task of a ${$case}`);
    if ($case === 'artifactUpdate') artifacts.apply(value);
    else equal($case, 'statusUpdate', 'an event of the stream');
  }
  equal(rest.at(-1).$case, 'statusUpdate', 'how a stream ends');
  equal(rest.at(-1).value.status.state, TASK_STATE_COMPLETED, 'the last status of the stream');
  checkDeliverables(artifacts, 'stream');
  const got = Artifacts.of(await analyst.getTask(GetTaskRequest.fromJSON({ id: task.id })));
  checkDeliverables(got, 'get after the stream');
  equal(text(got.get('response')), text(artifacts.get('response')), 'the text of the task and of its stream');
  console.log(`stream: ${rest.length + 1} events, completed with two deliverables`);
}

async function get(task) {
  const analyst = await client('analyst');
  const read = (historyLength) => analyst.getTask(GetTaskRequest.fromJSON({ id: task.id, historyLength }));
  const { history } = await read();
  assert(history.length > 1, 'the history has both sides');
  equal(text(history[0].parts), SALES, "the history's first message");
  equal([history[0].role, history.at(-1).role], [Role.ROLE_USER, Role.ROLE_AGENT], 'who spoke first and last');
  for (const length of [0, 1, 2]) {
    const newest = history.slice(history.length - length);
    equal((await read(length)).history, newest, `the last ${length} messages of the history`);
  }
  const unknown = () => analyst.getTask(GetTaskRequest.fromJSON({ id: randomUUID() }));
  await refused(is('TaskNotFoundError'), unknown, 'an unknown task');
  console.log(`get: whole history of ${history.length}, its last two messages, the last, none`);
}

async function list(task) {
  const analyst = await client('analyst');
  const page = (filter) => analyst.listTasks(ListTasksRequest.fromJSON(filter));
  const { contextId } = task;
  const found = await page({ contextId });
  equal(found.tasks.map(({ id }) => id), [task.id], 'the tasks of the context');
  equal([found.totalSize, found.nextPageToken], [1, ''], 'the only page');
  equal(found.tasks[0].artifacts, [], 'artifacts that nobody asked for');
  const whole = await page({ contextId, includeArtifacts: true });
  checkDeliverables(Artifacts.of(whole.tasks[0]), 'list');
  const seen = [];
  let pageToken = '';
  let totalSize;
  do {
    const one = await page({ pageSize: 1, pageToken });
    seen.push(...one.tasks.map(({ id }) => id));
    ({ nextPageToken: pageToken, totalSize } = one);
  } while (pageToken);
  equal(new Set(seen).size, totalSize, 'the tasks of all pages');
  assert(seen.includes(task.id), 'the task is on one of them');
  await refused(is('RequestMalformedError'), () => page({ pageSize: 101 }), 'a page that is too large');
  console.log(`list: one task of the context, and ${seen.length} in pages of one`);
}

/** A task of the patient agent that is still under way. */
async function begin(words) {
  const task = await (await client('patient')).sendMessage(asking(words, { returnImmediately: true }));
  assert([TASK_STATE_SUBMITTED, TASK_STATE_WORKING].includes(task.status.state), 'an answer at once');
  return task;
}

async function subscribe() {
  const { id } = await begin('Count to twelve.');
  const second = await client('patient');
  const subscription = () => collect(second.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id })));
  const [first, ...rest] = await subscription();
  equal([first.$case, first.value.id], ['task', id], 'how a subscription begins');
  const artifacts = Artifacts.of(first.value);
  for (const { $case, value } of rest) if ($case === 'artifactUpdate') artifacts.apply(value);
  equal(text(artifacts.get('response')), DOZEN, 'the text that the second client put together');
  equal(rest.at(-1).value.status.state, TASK_STATE_COMPLETED, 'the end of the subscription');
  await refused(is('UnsupportedOperationError'), subscription, 'a subscription to an ended task');
  console.log(`subscribe: a second client saw ${rest.length + 1} events and the whole text`);
}

async function input() {
  const first = await client('asker');
  const asked = await first.sendMessage(asking('Ask me.'));
  equal(asked.status.state, TASK_STATE_INPUT_REQUIRED, 'the state of a question');
  assert(text(asked.status.message.parts), 'the question');
  const second = await client('asker');
  const events = second.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: asked.id }));
  const { value: snapshot } = await events.next();
  equal(snapshot.payload.value.status.state, asked.status.state, 'what a second client sees first');
  const answer = asking('The blue one.');
  answer.message.taskId = asked.id;
  const ended = await first.sendMessage(answer);
  equal([ended.id, ended.status.state], [asked.id, TASK_STATE_COMPLETED], 'the task after the answer');
  const rest = await collect(events);
  equal(rest.at(-1).value.status.state, TASK_STATE_COMPLETED, 'the end that the second client saw');
  console.log(`input: a second client saw ${rest.length} events after the answer`);
}

async function cancel(completed) {
  const { id } = await begin('Count for ever.');
  const [first, second] = [await client('patient'), await client('patient')];
  const request = CancelTaskRequest.fromJSON({ id });
  const events = [];
  let canceled;
  for await (const { payload } of second.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id }))) {
    events.push(payload);
    if (!canceled && payload.$case === 'artifactUpdate') canceled = await first.cancelTask(request);
  }
  equal(canceled?.status.state, TASK_STATE_CANCELED, 'the answer to cancel');
  equal(events.at(-1).$case, 'statusUpdate', 'how the stream of a canceled task ends');
  equal(events.at(-1).value.status.state, TASK_STATE_CANCELED, 'its last status');
  const got = await first.getTask(GetTaskRequest.fromJSON({ id }));
  equal(got.status.state, TASK_STATE_CANCELED, 'the canceled task, read again');
  equal((await first.cancelTask(request)).status.state, TASK_STATE_CANCELED, 'the answer to a second cancel');
  const analyst = await client('analyst');
  const late = () => analyst.cancelTask(CancelTaskRequest.fromJSON({ id: completed.id }));
  await refused(is('TaskNotCancelableError'), late, 'a cancel of a completed task');
  console.log(`cancel: the subscriber saw the end after ${events.length} events`);
}

const webhookOf = (more) => ({
  url: webhook,
  token: "the receiver's token",
  authentication: { scheme: 'Bearer', credentials: 'the-receivers-secret' },
  ...more,
});

async function push() {
  const patient = await client('patient');
  const { id: taskId } = await patient.sendMessage(
    asking('Count to twelve.', {
      returnImmediately: true,
      taskPushNotificationConfig: webhookOf({ id: 'inline' }),
    }),
  );
  const made = await patient.createTaskPushNotificationConfig(
    TaskPushNotificationConfig.fromJSON(webhookOf({ id: 'second', taskId })),
  );
  equal([made.id, made.taskId, made.url], ['second', taskId, webhook], 'the webhook');
  const byId = GetTaskPushNotificationConfigRequest.fromJSON({ taskId, id: 'second' });
  equal(await patient.getTaskPushNotificationConfig(byId), made, 'the webhook, read again');
  const every = ListTaskPushNotificationConfigsRequest.fromJSON({ taskId });
  const all = async () =>
    (await patient.listTaskPushNotificationConfig(every)).configs.map(({ id }) => id).sort();
  equal(await all(), ['inline', 'second'], "the task's webhooks");
  for (let twice = 0; twice < 2; twice++) {
    const gone = DeleteTaskPushNotificationConfigRequest.fromJSON({ taskId, id: 'second' });
    await patient.deleteTaskPushNotificationConfig(gone);
  }
  const missing = () => patient.getTaskPushNotificationConfig(byId);
  await refused(is('TaskNotFoundError'), missing, 'a webhook that is gone');
  equal(await all(), ['inline'], 'the webhooks that are left');
  console.log('push: one webhook came with the message, another came and went');
}

try {
  await cards();
  const task = await send();
  await large();
  await stream();
  await get(task);
  await list(task);
  await subscribe();
  await input();
  await cancel(task);
  await push();
} catch (error) {
  console.error('FAILED:', error);
  process.exit(1);
}
