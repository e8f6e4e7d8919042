"""The Python A2A SDK of protocol 0.3 against a running system: `story.py ORIGIN BINDING WEBHOOK`.

It sends no version, so the system answers as 0.3 has it; what 0.3 lacks (lists) is not told. Prints
what it did, a line each. Ends with the reason and a status that is not zero at the first answer that
is not the expected one.
"""

import asyncio
import base64
import binascii
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, A2AClientError, ClientConfig, ClientFactory
from a2a.types import (
    GetTaskPushNotificationConfigParams,
    Message,
    Part,
    PushNotificationAuthenticationInfo,
    PushNotificationConfig,
    Role,
    TaskArtifactUpdateEvent,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskState,
    TaskStatusUpdateEvent,
    TextPart,
)

SALES = "Analyze sales of 10, 20 and 30 dollars. Give me a CSV and a useful downloadable report."
DOZEN = "One, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve."
UNDER_WAY = (TaskState.submitted, TaskState.working)


def check(holds, what):
    if not holds:
        sys.exit(f"FAILED: {what}")


def equal(found, expected, what):
    check(found == expected, f"{what}: {found!r} instead of {expected!r}")


async def refused(word, attempt, what):
    """What is awaited must fail, and the reason must hold this word."""
    try:
        await attempt
    except A2AClientError as error:
        check(word in str(error), f"{what}: {error}")
        return
    sys.exit(f"FAILED: {what}: it was not refused")


def asking(text, **more):
    return Message(
        message_id=str(uuid.uuid4()), role=Role.user, parts=[Part(root=TextPart(text=text))], **more
    )


def text(parts):
    return "".join(part.root.text for part in parts if part.root.kind == "text")


def of_task(task):
    return {artifact.name: artifact.parts for artifact in task.artifacts or []}


def check_deliverables(task, how):
    files = of_task(task)
    equal(sorted(files), ["report.md", "response", "sales.csv"], f"{how}: the artifacts")
    table = files["sales.csv"][0].root.file
    equal((table.name, table.mime_type), ("sales.csv", "text/csv"), f"{how}: the CSV")
    # Over HTTP this SDK hands over the bytes themselves, decoded once, where its own type says base64.
    try:
        content = base64.b64decode(table.bytes, validate=True).decode()
    except binascii.Error:
        content = table.bytes
    check("amount_usd" in content, f"{how}: its header")
    check("60 USD" in text(files["response"]), f"{how}: the answer tells the total")


class Story:
    def __init__(self, http, origin, binding, webhook):
        self.http, self.origin, self.binding, self.webhook = http, origin, binding, webhook

    async def card(self, agent):
        return await A2ACardResolver(self.http, f"{self.origin}/a2a/{agent}").get_agent_card()

    async def client(self, agent, **how):
        config = ClientConfig(
            httpx_client=self.http,
            supported_transports=[self.binding],
            use_client_preference=True,
            **how,
        )
        return ClientFactory(config).create(await self.card(agent))

    async def cards(self):
        card = await self.card("analyst")
        equal(card.name, "Sales analyst", "the card's name")
        check(card.protocol_version.startswith("0.3"), "the version of the card's main interface")
        check(card.capabilities.streaming, "the card says that it streams")
        old = await self.http.get(f"{self.origin}/.well-known/agent.json")
        equal(old.status_code, 200, "the path of very old clients")
        print("card: found, in the shape of 0.3")

    async def send(self):
        client = await self.client("analyst", streaming=False)
        message = asking(SALES)
        task, _ = [answer async for answer in client.send_message(message)][0]
        equal(task.status.state, TaskState.completed, "the state after a blocking send")
        check_deliverables(task, "send")
        again, _ = [answer async for answer in client.send_message(message)][0]
        equal(again.id, task.id, "the task of the same message sent again")
        print("send: completed with two deliverables; sent again it is the same task")
        return task

    async def stream(self):
        client = await self.client("analyst")
        events = [event async for event in client.send_message(asking(SALES))]
        equal(events[0][1], None, "a stream begins with the task")
        updates = [update for _, update in events[1:]]
        kinds = (TaskArtifactUpdateEvent, TaskStatusUpdateEvent)
        check(all(isinstance(update, kinds) for update in updates), "updates follow")
        check(updates[-1].final, "the last status says so")
        equal(updates[-1].status.state, TaskState.completed, "the last status of the stream")
        check(not any(getattr(u, "final", False) for u in updates[:-1]), "only the last one")
        check_deliverables(events[-1][0], "stream")
        print(f"stream: {len(events)} events, completed with two deliverables")

    async def get(self, task):
        client = await self.client("analyst")
        whole = await client.get_task(TaskQueryParams(id=task.id))
        equal(text(whole.history[0].parts), SALES, "the history's first message")
        for length in (1, 2):
            part = await client.get_task(TaskQueryParams(id=task.id, history_length=length))
            equal(part.history, whole.history[-length:], f"the last {length} of the history")
        unknown = client.get_task(TaskQueryParams(id=str(uuid.uuid4())))
        await refused("not found" if self.binding == "JSONRPC" else "404", unknown, "an unknown task")
        print(f"get: the whole history of {len(whole.history)}, and its last messages")

    async def begin(self, words):
        client = await self.client("patient", streaming=False, polling=True)
        task, _ = [answer async for answer in client.send_message(asking(words))][0]
        check(task.status.state in UNDER_WAY, "an answer at once")
        return task

    async def subscribe(self):
        task = await self.begin("Count to twelve.")
        second = await self.client("patient")
        events = [event async for event in second.resubscribe(TaskIdParams(id=task.id))]
        last, update = events[-1]
        check(update.final, "the end of the subscription")
        equal(text(of_task(last)["response"]), DOZEN, "the text that the second client put together")
        print(f"subscribe: a second client saw {len(events)} events and the whole text")

    async def input(self):
        first = await self.client("asker", streaming=False)
        asked, _ = [answer async for answer in first.send_message(asking("Ask me."))][0]
        equal(asked.status.state, TaskState.input_required, "the state of a question")
        answer = asking("The blue one.", task_id=asked.id)
        ended, _ = [answer async for answer in first.send_message(answer)][0]
        equal((ended.id, ended.status.state), (asked.id, TaskState.completed), "after the answer")
        print("input: the answer went to the same task")

    async def cancel(self, completed):
        task = await self.begin("Count for ever.")
        first, second = await self.client("patient"), await self.client("patient")
        events, canceled = [], None
        async for event in second.resubscribe(TaskIdParams(id=task.id)):
            events.append(event)
            if canceled is None and isinstance(event[1], TaskArtifactUpdateEvent):
                canceled = await first.cancel_task(TaskIdParams(id=task.id))
        equal(canceled.status.state, TaskState.canceled, "the answer to cancel")
        equal(events[-1][1].status.state, TaskState.canceled, "what the subscriber saw last")
        client = await self.client("analyst")
        late = client.cancel_task(TaskIdParams(id=completed.id))
        word = "cancel" if self.binding == "JSONRPC" else "400"
        await refused(word, late, "a cancel of a completed task")
        print(f"cancel: the subscriber saw the end after {len(events)} events")

    def config(self, config_id):
        return PushNotificationConfig(
            id=config_id,
            url=self.webhook,
            token="the receiver's token",
            authentication=PushNotificationAuthenticationInfo(
                schemes=["Bearer"], credentials="the-receivers-secret"
            ),
        )

    async def push(self):
        client = await self.client(
            "patient",
            streaming=False,
            polling=True,
            push_notification_configs=[self.config("inline")],
        )
        task, _ = [answer async for answer in client.send_message(asking("Count to twelve."))][0]
        # The SDK's own HTTP+JSON client of 0.3 sends these two in another shape than it reads.
        if self.binding == "JSONRPC":
            second = TaskPushNotificationConfig(
                task_id=task.id, push_notification_config=self.config("second")
            )
            made = await client.set_task_callback(second)
            equal(made.push_notification_config.id, "second", "the webhook")
            by_id = GetTaskPushNotificationConfigParams(
                id=task.id, push_notification_config_id="second"
            )
            got = await client.get_task_callback(by_id)
            equal(got.push_notification_config.url, self.webhook, "the webhook, read again")
        print("push: one webhook came with the message")


async def main():
    origin, binding, webhook = sys.argv[1:]
    # The system is on this machine: no proxy of the environment stands in between.
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        story = Story(http, origin, binding, webhook)
        await story.cards()
        task = await story.send()
        await story.stream()
        await story.get(task)
        await story.subscribe()
        await story.input()
        await story.cancel(task)
        await story.push()


asyncio.run(main())
