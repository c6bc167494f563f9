"""Modules that moved and public names that changed: the old ones work, with a warning."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

MOVED = {
    "agentic.core.bus.access": "agentic.core.bus.nats.access",
    "agentic.core.bus.account_files": "agentic.core.bus.nats.account_files",
    "agentic.core.bus.accounts": "agentic.core.bus.nats.accounts",
    "agentic.core.bus.buckets": "agentic.core.bus.projections.buckets",
    "agentic.core.bus.measures": "agentic.core.bus.projections.measures",
    "agentic.core.bus.memory_kv": "agentic.core.bus.memory.kv",
    "agentic.core.bus.nats_batch": "agentic.core.bus.nats.batch",
    "agentic.core.bus.nats_bus": "agentic.core.bus.nats.bus",
    "agentic.core.bus.nats_checkup": "agentic.core.bus.nats.checkup",
    "agentic.core.bus.nats_direct": "agentic.core.bus.nats.direct",
    "agentic.core.bus.nats_events": "agentic.core.bus.nats.events",
    "agentic.core.bus.nats_kv": "agentic.core.bus.nats.kv",
    "agentic.core.bus.nats_link": "agentic.core.bus.nats.link",
    "agentic.core.bus.nats_pushes": "agentic.core.bus.nats.pushes",
    "agentic.core.bus.nats_stream": "agentic.core.bus.nats.streams",
    "agentic.core.bus.patterns": "agentic.core.bus.projections.patterns",
    "agentic.core.bus.projected": "agentic.core.bus.projections.projected",
    "agentic.core.bus.projection": "agentic.core.bus.projections.projection",
    "agentic.core.bus.projector": "agentic.core.bus.projections.projector",
    "agentic.core.bus.seeds": "agentic.core.bus.nats.seeds",
    "agentic.core.graph.abandoning": "agentic.core.graph.running.on_cancel",
    "agentic.core.graph.annotations": "agentic.core.graph.codec.annotations",
    "agentic.core.graph.answers": "agentic.core.graph.model.answers",
    "agentic.core.graph.approvals": "agentic.core.graph.model.policies",
    "agentic.core.graph.attempts": "agentic.core.graph.running.attempts",
    "agentic.core.graph.base": "agentic.core.graph.definition.executor",
    "agentic.core.graph.builder": "agentic.core.graph.build.builder",
    "agentic.core.graph.cancels": "agentic.core.graph.running.cancels",
    "agentic.core.graph.codec_builtins": "agentic.core.graph.codec.builtins",
    "agentic.core.graph.codec_plans": "agentic.core.graph.codec.plans",
    "agentic.core.graph.codec_records": "agentic.core.graph.codec.records",
    "agentic.core.graph.codec_types": "agentic.core.graph.codec.types",
    "agentic.core.graph.config": "agentic.core.graph.model.policies",
    "agentic.core.graph.context": "agentic.core.graph.definition.context",
    "agentic.core.graph.crashes": "agentic.core.graph.model.policies",
    "agentic.core.graph.crew": "agentic.core.graph.running.tasks",
    "agentic.core.graph.declared": "agentic.core.graph.versions.type_registry",
    "agentic.core.graph.dispatch": "agentic.core.graph.definition.dispatch",
    "agentic.core.graph.document": "agentic.core.graph.model.document",
    "agentic.core.graph.edge_faults": "agentic.core.graph.build.edge_faults",
    "agentic.core.graph.edges": "agentic.core.graph.definition.edges",
    "agentic.core.graph.events": "agentic.core.graph.model.events",
    "agentic.core.graph.fingerprints": "agentic.core.graph.versions.fingerprints",
    "agentic.core.graph.function": "agentic.core.graph.definition.function",
    "agentic.core.graph.handler_types": "agentic.core.graph.definition.handler_types",
    "agentic.core.graph.hints": "agentic.core.graph.codec.hints",
    "agentic.core.graph.history": "agentic.core.graph.model.history",
    "agentic.core.graph.interrupts": "agentic.core.graph.model.interrupts",
    "agentic.core.graph.joins": "agentic.core.graph.planning.joins",
    "agentic.core.graph.judging": "agentic.core.graph.planning.conditions",
    "agentic.core.graph.letters": "agentic.core.graph.planning.routed",
    "agentic.core.graph.links": "agentic.core.graph.definition.run_services",
    "agentic.core.graph.maps": "agentic.core.graph.planning.maps",
    "agentic.core.graph.matching": "agentic.core.graph.codec.matching",
    "agentic.core.graph.memory_checkpoints": "agentic.core.graph.checkpoints.memory",
    "agentic.core.graph.messages": "agentic.core.graph.model.messages",
    "agentic.core.graph.own_context": "agentic.core.graph.running.tasks",
    "agentic.core.graph.parcel": "agentic.core.graph.codec.payload",
    "agentic.core.graph.planner": "agentic.core.graph.planning.planner",
    "agentic.core.graph.progress": "agentic.core.graph.model.progress",
    "agentic.core.graph.reading": "agentic.core.graph.checkpoints.state_decoder",
    "agentic.core.graph.record_events": "agentic.core.graph.planning.record_events",
    "agentic.core.graph.reducing": "agentic.core.graph.model.reducers",
    "agentic.core.graph.refusals": "agentic.core.graph.planning.refusals",
    "agentic.core.graph.replaying": "agentic.core.views.replay",
    "agentic.core.graph.responses": "agentic.core.graph.planning.responses",
    "agentic.core.graph.restoring": "agentic.core.graph.checkpoints.restore",
    "agentic.core.graph.result": "agentic.core.graph.model.result",
    "agentic.core.graph.retold": "agentic.core.graph.build.from_events",
    "agentic.core.graph.retries": "agentic.core.graph.model.policies",
    "agentic.core.graph.routing": "agentic.core.graph.planning.routing",
    "agentic.core.graph.run_view": "agentic.core.views.run_view",
    "agentic.core.graph.runner": "agentic.core.graph.running.runner",
    "agentic.core.graph.saving": "agentic.core.graph.checkpoints.writer",
    "agentic.core.graph.shared": "agentic.core.graph.planning.shared_state",
    "agentic.core.graph.signature": "agentic.core.graph.versions.signature",
    "agentic.core.graph.snapshots": "agentic.core.graph.checkpoints.snapshots",
    "agentic.core.graph.source_trees": "agentic.core.graph.versions.source_trees",
    "agentic.core.graph.state": "agentic.core.graph.model.state",
    "agentic.core.graph.subgraph": "agentic.core.graph.definition.subgraph",
    "agentic.core.graph.type_faults": "agentic.core.graph.build.type_faults",
    "agentic.core.graph.typing_rules": "agentic.core.graph.codec.typing_rules",
    "agentic.core.graph.under_way": "agentic.core.graph.definition.pending_calls",
    "agentic.core.graph.validation": "agentic.core.graph.build.validation",
    "agentic.core.graph.viz": "agentic.core.views.viz",
    "agentic.core.graph.walks": "agentic.core.graph.definition.walks",
    "agentic.core.graph.workflow": "agentic.core.graph.build.workflow",
    "agentic.core.graph.writing": "agentic.core.graph.checkpoints.state_encoder",
    "agentic.core.http.addresses": "agentic.core.http.guard.addresses",
    "agentic.core.http.aiohttp_transport": "agentic.core.http.transports.aiohttp_transport",
    "agentic.core.http.bodies": "agentic.core.http.transports.bodies",
    "agentic.core.http.budget": "agentic.core.http.politeness.budget",
    "agentic.core.http.cache": "agentic.core.http.caching.cache",
    "agentic.core.http.cookies": "agentic.core.http.sessions.cookies",
    "agentic.core.http.credentials": "agentic.core.http.sessions.credentials",
    "agentic.core.http.curl_transport": "agentic.core.http.transports.curl_transport",
    "agentic.core.http.directives": "agentic.core.http.politeness.directives",
    "agentic.core.http.hosts": "agentic.core.http.guard.hosts",
    "agentic.core.http.httpx2_transport": "agentic.core.http.transports.httpx2_transport",
    "agentic.core.http.public_suffixes": "agentic.core.http.sessions.public_suffixes",
    "agentic.core.http.redis_budget": "agentic.core.http.politeness.redis_budget",
    "agentic.core.http.revalidation": "agentic.core.http.caching.revalidation",
    "agentic.core.http.robots": "agentic.core.http.politeness.robots",
    "agentic.core.http.robots_file": "agentic.core.http.politeness.robots_file",
    "agentic.core.http.shared": "agentic.core.http.transports.shared",
    "agentic.core.http.slots": "agentic.core.http.politeness.slots",
    "agentic.core.http.special_addresses": "agentic.core.http.guard.special_addresses",
    "agentic.core.http.transport": "agentic.core.http.transports.port",
    "agentic.core.http.turns": "agentic.core.http.politeness.turns",
    "agentic.core.http.unpacking": "agentic.core.http.transports.unpacking",
    "agentic.core.http.url_credentials": "agentic.core.http.sessions.url_credentials",
    "agentic.core.http.wire": "agentic.core.http.transports.wire",
    "agentic.core.pipeline.abandoning": "agentic.core.pipeline.steps.on_cancel",
    "agentic.core.pipeline.amounts": "agentic.core.pipeline.spec.amounts",
    "agentic.core.pipeline.attempts": "agentic.core.pipeline.policies.attempts",
    "agentic.core.pipeline.building": "agentic.core.pipeline.spec.building",
    "agentic.core.pipeline.calls": "agentic.core.pipeline.steps.calls",
    "agentic.core.pipeline.check": "agentic.core.pipeline.spec.check",
    "agentic.core.pipeline.choices": "agentic.core.pipeline.steps.choices",
    "agentic.core.pipeline.compiler": "agentic.core.pipeline.compile.compiler",
    "agentic.core.pipeline.crawl_report": "agentic.core.pipeline.crawl.report",
    "agentic.core.pipeline.crawl_store": "agentic.core.pipeline.crawl.store",
    "agentic.core.pipeline.evaluating": "agentic.core.pipeline.expressions.evaluating",
    "agentic.core.pipeline.follow": "agentic.core.pipeline.crawl.follow",
    "agentic.core.pipeline.freezing": "agentic.core.pipeline.spec.freezing",
    "agentic.core.pipeline.hiding": "agentic.core.pipeline.expressions.secret_masking",
    "agentic.core.pipeline.inputs": "agentic.core.pipeline.spec.inputs",
    "agentic.core.pipeline.intents": "agentic.core.pipeline.spec.intents",
    "agentic.core.pipeline.judging": "agentic.core.pipeline.outcome",
    "agentic.core.pipeline.loader": "agentic.core.pipeline.spec.loader",
    "agentic.core.pipeline.loops": "agentic.core.pipeline.steps.loops",
    "agentic.core.pipeline.naming": "agentic.core.pipeline.spec.step_names",
    "agentic.core.pipeline.nodes": "agentic.core.pipeline.steps.nodes",
    "agentic.core.pipeline.outlines": "agentic.core.pipeline.compile.outlines",
    "agentic.core.pipeline.own_secrets": "agentic.core.pipeline.spec.own_secrets",
    "agentic.core.pipeline.page_items": "agentic.core.pipeline.crawl.page_items",
    "agentic.core.pipeline.places": "agentic.core.pipeline.steps.positions",
    "agentic.core.pipeline.reader": "agentic.core.pipeline.spec.reader",
    "agentic.core.pipeline.records": "agentic.core.pipeline.policies.records",
    "agentic.core.pipeline.references": "agentic.core.pipeline.expressions.references",
    "agentic.core.pipeline.repairing": "agentic.core.pipeline.spec.repairing",
    "agentic.core.pipeline.repeated": "agentic.core.pipeline.crawl.repeated",
    "agentic.core.pipeline.result": "agentic.core.pipeline.steps.result",
    "agentic.core.pipeline.schema": "agentic.core.pipeline.spec.schema",
    "agentic.core.pipeline.seeding": "agentic.core.pipeline.crawl.seeding",
    "agentic.core.pipeline.slices": "agentic.core.pipeline.crawl.slice",
    "agentic.core.pipeline.slots": "agentic.core.pipeline.crawl.slots",
    "agentic.core.pipeline.state": "agentic.core.pipeline.steps.state",
    "agentic.core.pipeline.statistics": "agentic.core.pipeline.crawl.statistics",
    "agentic.core.pipeline.subpipelines": "agentic.core.pipeline.steps.subpipelines",
    "agentic.core.pipeline.telling": "agentic.core.pipeline.policies.retry_events",
    "agentic.core.pipeline.translate": "agentic.core.pipeline.spec.messages",
    "agentic.core.pipeline.versions": "agentic.core.pipeline.spec.versions",
    "agentic.core.pipeline.visits": "agentic.core.pipeline.crawl.page",
    "agentic.core.pipeline.walking": "agentic.core.pipeline.spec.walking",
    "agentic.core.pipeline.words": "agentic.core.pipeline.expressions.suggestions",
    "agentic.executors.agents_doctor": "agentic.executors.agents.doctor",
    "agentic.executors.audit_trail": "agentic.executors.durable.publish.audit_trail",
    "agentic.executors.catalog": "agentic.executors.agents.catalog",
    "agentic.executors.config": "agentic.executors.workers.config",
    "agentic.executors.dispatch": "agentic.executors.workers.dispatch",
    "agentic.executors.durable.abandoning": "agentic.executors.durable.reconcile.on_cancel",
    "agentic.executors.durable.activity": "agentic.executors.durable.worker.activity",
    "agentic.executors.durable.asking": "agentic.executors.durable.publish.asking",
    "agentic.executors.durable.auditing": "agentic.executors.durable.publish.auditing",
    "agentic.executors.durable.beginning": "agentic.executors.durable.runs.beginning",
    "agentic.executors.durable.catalog": "agentic.executors.durable.runs.catalog",
    "agentic.executors.durable.children": "agentic.executors.durable.runs.children",
    "agentic.executors.durable.claiming": "agentic.executors.durable.worker.claiming",
    "agentic.executors.durable.control": "agentic.executors.durable.runs.control",
    "agentic.executors.durable.crew": "agentic.executors.durable.worker.pool",
    "agentic.executors.durable.cutting_off": "agentic.executors.durable.runs.cutting_off",
    "agentic.executors.durable.deciding": "agentic.executors.durable.reconcile.deciding",
    "agentic.executors.durable.encoding": "agentic.executors.durable.runs.encoding",
    "agentic.executors.durable.handle": "agentic.executors.durable.runs.handle",
    "agentic.executors.durable.hooks": "agentic.executors.durable.runs.hooks",
    "agentic.executors.durable.host": "agentic.executors.durable.worker.host",
    "agentic.executors.durable.image": "agentic.executors.durable.worker.cached_run",
    "agentic.executors.durable.images": "agentic.executors.durable.worker.run_cache",
    "agentic.executors.durable.lane": "agentic.executors.durable.worker.ledger_executor",
    "agentic.executors.durable.leases": "agentic.executors.durable.worker.leases",
    "agentic.executors.durable.live": "agentic.executors.durable.publish.live",
    "agentic.executors.durable.local": "agentic.executors.durable.runs.local",
    "agentic.executors.durable.messages": "agentic.executors.durable.publish.messages",
    "agentic.executors.durable.outbox": "agentic.executors.durable.publish.outbox",
    "agentic.executors.durable.past": "agentic.executors.durable.runs.history",
    "agentic.executors.durable.patience": "agentic.executors.durable.worker.patience",
    "agentic.executors.durable.preparing": "agentic.executors.durable.worker.preparing",
    "agentic.executors.durable.process": "agentic.executors.durable.worker.process",
    "agentic.executors.durable.process_names": "agentic.executors.durable.worker.process_names",
    "agentic.executors.durable.projecting": "agentic.executors.durable.publish.projecting",
    "agentic.executors.durable.publishing": "agentic.executors.durable.publish.publishing",
    "agentic.executors.durable.reconciler": "agentic.executors.durable.reconcile.reconciler",
    "agentic.executors.durable.rests": "agentic.executors.durable.worker.waiters",
    "agentic.executors.durable.service": "agentic.executors.durable.runs.service",
    "agentic.executors.durable.starting": "agentic.executors.durable.runs.starting",
    "agentic.executors.durable.sweeping": "agentic.executors.durable.reconcile.sweeping",
    "agentic.executors.durable.tending": "agentic.executors.durable.reconcile.advance",
    "agentic.executors.ending": "agentic.executors.agents.ending",
    "agentic.executors.factory": "agentic.executors.agents.factory",
    "agentic.executors.files": "agentic.executors.agents.files",
    "agentic.executors.flower": "agentic.executors.workers.flower",
    "agentic.executors.flows": "agentic.executors.agents.workflows",
    "agentic.executors.general": "agentic.executors.agents.default_mapper",
    "agentic.executors.guarding": "agentic.executors.workers.guarding",
    "agentic.executors.host": "agentic.executors.agents.host",
    "agentic.executors.keeping": "agentic.executors.workers.keeping",
    "agentic.executors.lifecycle": "agentic.executors.workers.lifecycle",
    "agentic.executors.local": "agentic.executors.agents.local",
    "agentic.executors.loop": "agentic.executors.workers.loop",
    "agentic.executors.loop_watch": "agentic.executors.workers.loop_watch",
    "agentic.executors.metrics_executions": "agentic.executors.metrics.executions",
    "agentic.executors.metrics_runs": "agentic.executors.metrics.runs",
    "agentic.executors.metrics_schedules": "agentic.executors.metrics.schedules",
    "agentic.executors.metrics_sql": "agentic.executors.metrics.sql",
    "agentic.executors.observing": "agentic.executors.agents.observing",
    "agentic.executors.outside": "agentic.executors.agents.actor_resources",
    "agentic.executors.own_config": "agentic.executors.workers.celery_config",
    "agentic.executors.pipeline": "agentic.executors.agents.pipeline",
    "agentic.executors.pulse": "agentic.executors.workers.pulse",
    "agentic.executors.reconciling": "agentic.executors.workers.reconciling",
    "agentic.executors.records": "agentic.executors.agents.repository",
    "agentic.executors.redaction": "agentic.executors.agents.redaction",
    "agentic.executors.removing": "agentic.executors.agents.removing",
    "agentic.executors.run_watch": "agentic.executors.durable.runs.watch",
    "agentic.executors.runner": "agentic.executors.agents.runner",
    "agentic.executors.schedule_cron": "agentic.executors.schedules.cron",
    "agentic.executors.schedule_firing": "agentic.executors.schedules.firing",
    "agentic.executors.schedule_times": "agentic.executors.schedules.times",
    "agentic.executors.services": "agentic.executors.workers.services",
    "agentic.executors.stalling": "agentic.executors.workers.stalling",
    "agentic.executors.stopping": "agentic.executors.workers.stopping",
    "agentic.executors.task_progress": "agentic.executors.workers.task_progress",
    "agentic.executors.workflow": "agentic.executors.agents.workflow",
    "agentic.mappers.audit_models": "agentic.mappers.tables.audit",
    "agentic.mappers.away": "agentic.mappers.database.away",
    "agentic.mappers.base": "agentic.mappers.upserts.mapper",
    "agentic.mappers.checkpoint_rows": "agentic.mappers.checkpoints.rows",
    "agentic.mappers.checkpoint_statements": "agentic.mappers.checkpoints.statements",
    "agentic.mappers.columns": "agentic.mappers.tables.columns",
    "agentic.mappers.dead_letters": "agentic.mappers.catalog.dead_letters",
    "agentic.mappers.driver": "agentic.mappers.database.driver",
    "agentic.mappers.engine": "agentic.mappers.database.engine",
    "agentic.mappers.event_streams": "agentic.mappers.catalog.event_streams",
    "agentic.mappers.execution_choice": "agentic.mappers.catalog.execution_choice",
    "agentic.mappers.execution_counts": "agentic.mappers.catalog.execution_counts",
    "agentic.mappers.executions": "agentic.mappers.catalog.executions",
    "agentic.mappers.frontier": "agentic.mappers.crawl.frontier",
    "agentic.mappers.frontier_failures": "agentic.mappers.crawl.failures",
    "agentic.mappers.frontier_statements": "agentic.mappers.crawl.statements",
    "agentic.mappers.http_cache": "agentic.mappers.crawl.http_cache",
    "agentic.mappers.http_cache_models": "agentic.mappers.tables.http_cache",
    "agentic.mappers.index_of": "agentic.mappers.database.expressions",
    "agentic.mappers.kept_totals": "agentic.mappers.runs.totals",
    "agentic.mappers.lane": "agentic.mappers.database.thread",
    "agentic.mappers.ledger_activation_statements": "agentic.mappers.ledger.activation_statements",
    "agentic.mappers.ledger_activations": "agentic.mappers.ledger.activations",
    "agentic.mappers.ledger_base": "agentic.mappers.ledger.base",
    "agentic.mappers.ledger_connections": "agentic.mappers.ledger.connections",
    "agentic.mappers.ledger_cursor": "agentic.mappers.ledger.cursor",
    "agentic.mappers.ledger_decisions": "agentic.mappers.ledger.decisions",
    "agentic.mappers.ledger_models": "agentic.mappers.tables.ledger",
    "agentic.mappers.ledger_queue_statements": "agentic.mappers.ledger.queue_statements",
    "agentic.mappers.ledger_queues": "agentic.mappers.ledger.queues",
    "agentic.mappers.ledger_reading": "agentic.mappers.runs.reading",
    "agentic.mappers.ledger_requests": "agentic.mappers.runs.requests",
    "agentic.mappers.ledger_retention": "agentic.mappers.runs.retention",
    "agentic.mappers.ledger_retention_statements": "agentic.mappers.runs.retention_statements",
    "agentic.mappers.ledger_rows": "agentic.mappers.ledger.rows",
    "agentic.mappers.ledger_run_statements": "agentic.mappers.ledger.run_statements",
    "agentic.mappers.ledger_runs": "agentic.mappers.ledger.runs",
    "agentic.mappers.ledger_sql": "agentic.mappers.ledger.sql",
    "agentic.mappers.ledger_state_statements": "agentic.mappers.ledger.state_statements",
    "agentic.mappers.ledger_states": "agentic.mappers.ledger.states",
    "agentic.mappers.ledger_steps": "agentic.mappers.ledger.steps",
    "agentic.mappers.ledger_transaction": "agentic.mappers.ledger.transaction",
    "agentic.mappers.letter_retries": "agentic.mappers.catalog.dead_letter_retries",
    "agentic.mappers.memory": "agentic.mappers.vault.memory",
    "agentic.mappers.models": "agentic.mappers.tables.core",
    "agentic.mappers.one_of": "agentic.mappers.database.expressions",
    "agentic.mappers.parts": "agentic.mappers.database.savepoints",
    "agentic.mappers.pipelines": "agentic.mappers.catalog.pipelines",
    "agentic.mappers.postgresql": "agentic.mappers.database.postgresql",
    "agentic.mappers.prefixes": "agentic.mappers.database.prefixes",
    "agentic.mappers.schedule_firing": "agentic.mappers.catalog.schedule_firing",
    "agentic.mappers.schedules": "agentic.mappers.catalog.schedules",
    "agentic.mappers.snapshots": "agentic.mappers.upserts.snapshots",
    "agentic.mappers.stating": "agentic.mappers.upserts.sentinels",
    "agentic.mappers.summary": "agentic.mappers.upserts.summary",
    "agentic.mappers.target": "agentic.mappers.upserts.target",
    "agentic.mappers.vault_environment": "agentic.mappers.vault.environment",
    "agentic.mappers.vault_errors": "agentic.mappers.vault.errors",
    "agentic.mappers.vault_keys": "agentic.mappers.vault.keys",
    "agentic.mappers.vault_models": "agentic.mappers.tables.vault",
    "agentic.mappers.vault_rotation": "agentic.mappers.vault.rotation",
    "agentic.mappers.vault_rows": "agentic.mappers.vault.rows",
    "agentic.mappers.vault_sessions": "agentic.mappers.vault.sessions",
}
"""Old module -> new module."""

TAKEN = {
    "agentic.core.bus.memory": "agentic.core.bus.memory.bus",
    "agentic.core.graph.checkpoints": "agentic.core.graph.checkpoints.store",
    "agentic.core.graph.codec": "agentic.core.graph.codec.codec",
    "agentic.core.http.sessions": "agentic.core.http.sessions.sessions",
    "agentic.core.http.transports": "agentic.core.http.transports.choice",
    "agentic.core.pipeline.crawl": "agentic.core.pipeline.crawl.crawl",
    "agentic.core.pipeline.expressions": "agentic.core.pipeline.expressions.expressions",
    "agentic.core.pipeline.policies": "agentic.core.pipeline.policies.policies",
    "agentic.core.pipeline.spec": "agentic.core.pipeline.spec.spec",
    "agentic.executors.durable.worker": "agentic.executors.durable.worker.worker",
    "agentic.executors.metrics": "agentic.executors.metrics.metrics",
    "agentic.mappers.catalog": "agentic.mappers.catalog.projects",
    "agentic.mappers.checkpoints": "agentic.mappers.checkpoints.store",
    "agentic.mappers.database": "agentic.mappers.database.database",
    "agentic.mappers.ledger": "agentic.mappers.ledger.ledger",
    "agentic.mappers.vault": "agentic.mappers.vault.vault",
}
"""Old module whose path is a package now -> new module."""

RENAMED = {
    "agentic.core.browser": {
        "Manners": "Politeness",
    },
    "agentic.core.bus": {
        "Lease": "KeyLease",
    },
    "agentic.core.graph": {
        "Document": "CheckpointDocument",
        "MigrationError": "CheckpointMigrationError",
    },
    "agentic.executors.durable": {
        "Flow": "RegisteredWorkflow",
    },
    "agentic.mappers": {
        "stated": "value_or_cleared",
    },
}
"""Package -> old public name -> new one."""


class Loader:
    """Loads a module that moved from its new path."""

    @staticmethod
    def create_module(_spec: ModuleSpec) -> None:
        """Leave it to the import system to create the module, see :meth:`exec_module`."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Replace the module by the one at the new path."""
        old = module.__name__
        _warn(old, MOVED[old], 2)
        sys.modules[old] = import_module(MOVED[old])


def spec_of(name: str) -> ModuleSpec | None:
    """Return how to load a module that moved; None for any other module."""
    return ModuleSpec(name, Loader) if name in MOVED else None  # type: ignore[arg-type]


def found(package: str, name: str) -> object:
    """Return a name of a module whose path is a package now, for the ``__getattr__`` of the package.

    Raises:
        AttributeError: The module does not have it.
    """
    # `from package import module` asks the package for the name first: its own modules are not meant here.
    is_own = name.startswith("__") or find_spec(f"{package}.{name}") is not None
    home = None if is_own else import_module(TAKEN[package])
    if home is None or not hasattr(home, name):
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    _warn(f"{package}.{name}", f"{home.__name__}.{name}", 3)
    return getattr(home, name)


def renamed(package: str, name: str) -> object:
    """Return a public name of a package by its old name.

    Raises:
        AttributeError: It never had this name.
    """
    new = RENAMED.get(package, {}).get(name)
    if new is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    warn_of_old_name(f"{package}.{name}", f"{package}.{new}", 6)
    return getattr(import_module(package), new)


def warn_of_old_name(old: str, new: str, stack_level: int) -> None:
    """Warn that an old name is used."""
    text = f"{old} is now {new}; the old name works until the next release"
    warnings.warn(text, DeprecationWarning, stack_level)


def _warn(old: str, new: str, stack_level: int) -> None:
    text = f"{old} moved to {new}; the old path works until the next release"
    warnings.warn(text, DeprecationWarning, stack_level + 1)
