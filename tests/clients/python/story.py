"""The Python A2A SDK against a running system: `story.py ORIGIN BINDING WEBHOOK`.

Prints what it did, a line each. Ends with the reason and a status that is not zero at the first
answer that is not the expected one. The stories in JavaScript and Rust (../js, ../rust) tell the same.
"""

import asyncio
import csv
import hashlib
import io
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

SALES = "Analyze sales of 10, 20 and 30 dollars. Give me a CSV and a useful downloadable report."
DOZEN = "One, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve."
UNDER_WAY = (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)


def check(holds, what):
    if not holds:
        sys.exit(f"FAILED: {what}")


def equal(found, expected, what):
    check(found == expected, f"{what}: {found!r} instead of {expected!r}")


async def refused(error, attempt, what):
    """What is awaited must fail, and with this error of the SDK."""
    try:
        await attempt
    except error:
        return
    except Exception as other:  # noqa: BLE001
        sys.exit(f"FAILED: {what}: {other!r} instead of {error.__name__}")
    sys.exit(f"FAILED: {what}: no {error.__name__}")


def asking(text, message_id=None, **configuration):
    return SendMessageRequest(
        message=Message(
            message_id=message_id or str(uuid.uuid4()),
            role=Role.ROLE_USER,
            parts=[Part(text=text)],
        ),
        configuration=SendMessageConfiguration(**configuration),
    )


class Artifacts:
    """Artifacts put together from updates, as A2A section 4.2.2 has it."""

    def __init__(self):
        self.by_id = {}

    def apply(self, update):
        name = update.artifact.name or update.artifact.artifact_id
        if update.append:
            self.by_id[name].extend(update.artifact.parts)
        else:
            self.by_id[name] = list(update.artifact.parts)

    def text(self, name="response"):
        return "".join(part.text for part in self.by_id.get(name, []))


def of_task(task):
    return {artifact.name: list(artifact.parts) for artifact in task.artifacts}


def check_deliverables(artifacts, how):
    """The CSV and the report: their content, and that their digests are those of their bytes."""
    files = {name: parts for name, parts in artifacts.items() if parts[0].filename}
    equal(sorted(files), ["report.md", "sales.csv"], f"{how}: the deliverables")
    for name, parts in files.items():
        equal(len(parts), 1, f"{how}: Parts of {name}")
        equal(parts[0].filename, name, f"{how}: the file name")
        announced = parts[0].metadata["cognition"]["sha256"]
        equal(hashlib.sha256(parts[0].raw).hexdigest(), announced, f"{how}: the digest of {name}")
    table, report = files["sales.csv"][0], files["report.md"][0]
    equal(table.media_type, "text/csv", f"{how}: media type of the CSV")
    equal(report.media_type, "text/markdown", f"{how}: media type of the report")
    rows = list(csv.DictReader(io.StringIO(table.raw.decode())))
    equal([row["amount_usd"] for row in rows], ["10", "20", "30"], f"{how}: amounts of the CSV")
    check("total of 60 USD" in report.raw.decode(), f"{how}: the report tells the total")
    said = "".join(part.text for part in artifacts["response"])
    check("sales.csv" in said and "60 USD" in said, f"{how}: the answer names file and total")


class Story:
    def __init__(self, http, origin, binding, webhook):
        self.http, self.origin, self.binding, self.webhook = http, origin, binding, webhook

    async def card(self, agent):
        return await A2ACardResolver(self.http, f"{self.origin}/a2a/{agent}").get_agent_card()

    async def client(self, agent, *, streaming=True):
        """A client of its own, as another program would have one."""
        config = ClientConfig(
            streaming=streaming,
            httpx_client=self.http,
            supported_protocol_bindings=[self.binding],
        )
        return ClientFactory(config).create(await self.card(agent))

    async def cards(self):
        card = await self.card("analyst")
        equal(card.name, "Sales analyst", "the card's name")
        equal(
            [i.protocol_binding for i in card.supported_interfaces if i.protocol_version == "1.0"],
            ["JSONRPC", "HTTP+JSON"],
            "the card's interfaces",
        )
        check(card.capabilities.streaming, "the card says that it streams")
        equal([skill.id for skill in card.skills], ["analyze"], "the card's skills")
        first = await A2ACardResolver(self.http, self.origin).get_agent_card()
        equal(first, card, "the card of the origin")
        print("card: found below the agent's address and at the origin")

    async def send(self):
        client = await self.client("analyst", streaming=False)
        request = asking(SALES)
        answers = [answer async for answer in client.send_message(request)]
        equal(len(answers), 1, "answers of a blocking send")
        task = answers[0].task
        equal(task.status.state, TaskState.TASK_STATE_COMPLETED, "the state after a blocking send")
        check_deliverables(of_task(task), "send")
        again = [answer async for answer in client.send_message(request)][0].task
        equal(again.id, task.id, "the task of the same message sent again")
        other = asking("Analyze 1 and 2.", message_id=request.message.message_id)
        await refused(InvalidParamsError, collect(client.send_message(other)), "a messageId reused")
        print("send: completed with two deliverables; sent again it is the same task")
        return task

    async def large(self):
        client = await self.client("bulky", streaming=False)
        task = [answer async for answer in client.send_message(asking("Go."))][0].task
        equal(task.status.state, TaskState.TASK_STATE_COMPLETED, "the state of the bulky task")
        part = of_task(task)["lines.txt"][0]
        check(part.url, f"a large file comes as an address, not as {part.WhichOneof('content')}")
        download = await self.http.get(part.url)
        equal(download.status_code, 200, "the download's status")
        equal(len(download.content), 300_000, "the download's size")
        announced = part.metadata["cognition"]["sha256"]
        equal(hashlib.sha256(download.content).hexdigest(), announced, "the download's digest")
        print("send: a large file came as an address, and its bytes are the announced ones")

    async def stream(self):
        client = await self.client("analyst")
        events = [event async for event in client.send_message(asking(SALES))]
        check(events[0].HasField("task"), "a stream begins with the task")
        task = events[0].task
        check(task.status.state in UNDER_WAY, "the streamed task begins unfinished")
        artifacts, states = Artifacts(), []
        for event in events[1:]:
            if event.HasField("artifact_update"):
                equal(event.artifact_update.task_id, task.id, "the task of an artifact update")
                artifacts.apply(event.artifact_update)
            else:
                check(event.HasField("status_update"), f"an event of the stream: {event}")
                equal(event.status_update.context_id, task.context_id, "the context of a status")
                states.append(event.status_update.status.state)
        check(events[-1].HasField("status_update"), "a stream ends with a status")
        equal(states[-1], TaskState.TASK_STATE_COMPLETED, "the last status of the stream")
        check_deliverables(artifacts.by_id, "stream")
        got = await client.get_task(GetTaskRequest(id=task.id))
        check_deliverables(of_task(got), "get after the stream")
        text = "".join(part.text for part in of_task(got)["response"])
        equal(text, artifacts.text(), "the text of the task and of its stream")
        print(f"stream: {len(events)} events, completed with two deliverables")

    async def get(self, task):
        client = await self.client("analyst")
        whole = await client.get_task(GetTaskRequest(id=task.id))
        check(len(whole.history) > 1, "the history has both sides")
        equal(whole.history[0].parts[0].text, SALES, "the history's first message")
        equal(whole.history[0].role, Role.ROLE_USER, "who spoke first")
        equal(whole.history[-1].role, Role.ROLE_AGENT, "who spoke last")
        for length in (0, 1, 2):
            part = await client.get_task(GetTaskRequest(id=task.id, history_length=length))
            newest = whole.history[len(whole.history) - length :]
            equal(list(part.history), list(newest), f"the last {length} messages of the history")
        unknown = GetTaskRequest(id=str(uuid.uuid4()))
        await refused(TaskNotFoundError, client.get_task(unknown), "an unknown task")
        print(f"get: whole history of {len(whole.history)}, its last two messages, the last, none")

    async def list(self, task):
        client = await self.client("analyst")
        page = await client.list_tasks(ListTasksRequest(context_id=task.context_id))
        equal([found.id for found in page.tasks], [task.id], "the tasks of the context")
        equal((page.total_size, page.next_page_token), (1, ""), "the only page")
        equal(len(page.tasks[0].artifacts), 0, "artifacts that nobody asked for")
        request = ListTasksRequest(context_id=task.context_id, include_artifacts=True)
        page = await client.list_tasks(request)
        check_deliverables(of_task(page.tasks[0]), "list")
        seen, token = [], ""
        while True:
            page = await client.list_tasks(ListTasksRequest(page_size=1, page_token=token))
            seen += [found.id for found in page.tasks]
            token = page.next_page_token
            if not token:
                break
        equal(len(set(seen)), page.total_size, "the tasks of all pages")
        check(task.id in seen, "the task is on one of them")
        refusal = client.list_tasks(ListTasksRequest(page_size=101))
        await refused(InvalidParamsError, refusal, "a page that is too large")
        print(f"list: one task of the context, and {len(seen)} in pages of one")

    async def begin(self, text):
        """A task of the patient agent that is still under way."""
        client = await self.client("patient", streaming=False)
        request = asking(text, return_immediately=True)
        task = [answer async for answer in client.send_message(request)][0].task
        check(task.status.state in UNDER_WAY, "an answer at once tells of an unfinished task")
        return task

    async def subscribe(self):
        task = await self.begin("Count to twelve.")
        second = await self.client("patient")
        events = [e async for e in second.subscribe(SubscribeToTaskRequest(id=task.id))]
        check(events[0].HasField("task"), "a subscription begins with the task")
        equal(events[0].task.id, task.id, "the subscribed task")
        artifacts = Artifacts()
        artifacts.by_id.update(of_task(events[0].task))
        for event in events[1:]:
            if event.HasField("artifact_update"):
                artifacts.apply(event.artifact_update)
        equal(artifacts.text(), DOZEN, "the text that the second client put together")
        last = events[-1].status_update.status.state
        equal(last, TaskState.TASK_STATE_COMPLETED, "the end of the subscription")
        ended = second.subscribe(SubscribeToTaskRequest(id=task.id))
        await refused(UnsupportedOperationError, collect(ended), "a subscription to an ended task")
        print(f"subscribe: a second client saw {len(events)} events and the whole text")

    async def input(self):
        first = await self.client("asker", streaming=False)
        asked = [answer async for answer in first.send_message(asking("Ask me."))][0].task
        equal(asked.status.state, TaskState.TASK_STATE_INPUT_REQUIRED, "the state of a question")
        check(asked.status.message.parts[0].text, "the question")
        second = await self.client("asker")
        events = second.subscribe(SubscribeToTaskRequest(id=asked.id))
        snapshot = await anext(events)
        equal(snapshot.task.status.state, asked.status.state, "what a second client sees first")
        answer = asking("The blue one.")
        answer.message.task_id = asked.id
        ended = [answer async for answer in first.send_message(answer)][0].task
        equal(ended.id, asked.id, "the task of the answer")
        equal(ended.status.state, TaskState.TASK_STATE_COMPLETED, "the state after the answer")
        rest = await collect(events)
        last = rest[-1].status_update.status.state
        equal(last, TaskState.TASK_STATE_COMPLETED, "the end that the second client saw")
        print(f"input: a second client saw {len(rest)} events after the answer")

    async def cancel(self, completed):
        task = await self.begin("Count for ever.")
        first, second = await self.client("patient"), await self.client("patient")
        events, canceled = [], None
        async for event in second.subscribe(SubscribeToTaskRequest(id=task.id)):
            events.append(event)
            if canceled is None and event.HasField("artifact_update"):
                canceled = await first.cancel_task(CancelTaskRequest(id=task.id))
        check(canceled, "the endless task said something")
        equal(canceled.status.state, TaskState.TASK_STATE_CANCELED, "the answer to cancel")
        check(events[-1].HasField("status_update"), "the stream of a canceled task ends with it")
        last = events[-1].status_update.status.state
        equal(last, TaskState.TASK_STATE_CANCELED, "the last status of the canceled task")
        got = await first.get_task(GetTaskRequest(id=task.id))
        equal(got.status.state, TaskState.TASK_STATE_CANCELED, "the canceled task, read again")
        twice = await first.cancel_task(CancelTaskRequest(id=task.id))
        equal(twice.status.state, TaskState.TASK_STATE_CANCELED, "the answer to a second cancel")
        client = await self.client("analyst")
        late = client.cancel_task(CancelTaskRequest(id=completed.id))
        await refused(TaskNotCancelableError, late, "a cancel of a completed task")
        print(f"cancel: the subscriber saw the end after {len(events)} events")


    def config(self, **more):
        return TaskPushNotificationConfig(
            url=self.webhook,
            token="the receiver's token",
            authentication=AuthenticationInfo(
                scheme="Bearer", credentials="the-receivers-secret"
            ),
            **more,
        )

    async def push(self):
        client = await self.client("patient", streaming=False)
        request = asking(
            "Count to twelve.",
            return_immediately=True,
            task_push_notification_config=self.config(id="inline"),
        )
        task = [answer async for answer in client.send_message(request)][0].task
        second = self.config(id="second", task_id=task.id)
        made = await client.create_task_push_notification_config(second)
        equal((made.id, made.task_id, made.url), ("second", task.id, self.webhook), "the webhook")
        by_id = GetTaskPushNotificationConfigRequest(task_id=task.id, id="second")
        got = await client.get_task_push_notification_config(by_id)
        equal(got, made, "the webhook, read again")
        every = ListTaskPushNotificationConfigsRequest(task_id=task.id)
        found = await client.list_task_push_notification_configs(every)
        equal(sorted(c.id for c in found.configs), ["inline", "second"], "the task's webhooks")
        for _ in range(2):
            gone = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="second")
            await client.delete_task_push_notification_config(gone)
        missing = client.get_task_push_notification_config(by_id)
        await refused(TaskNotFoundError, missing, "a webhook that is gone")
        found = await client.list_task_push_notification_configs(every)
        equal([c.id for c in found.configs], ["inline"], "the webhooks that are left")
        print("push: one webhook came with the message, another came and went")


async def collect(stream):
    return [event async for event in stream]


async def main():
    origin, binding, webhook = sys.argv[1:]
    # The system is on this machine: no proxy of the environment stands in between.
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        story = Story(http, origin, binding, webhook)
        await story.cards()
        task = await story.send()
        await story.large()
        await story.stream()
        await story.get(task)
        await story.list(task)
        await story.subscribe()
        await story.input()
        await story.cancel(task)
        await story.push()


asyncio.run(main())
