import type { ServiceInput } from '../../entry-types.ts'
import { definitions } from './account.ts'

/*
 * RabbitMQ is an Erlang node, and a node usually tells its name to epmd, a daemon that all Erlang programs of a machine
 * share, and opens a port on which its like may give it any order. Here it does neither: nothing but the broker's own
 * ports is opened, no daemon outlives it, and nodes of one name run side by side. One name for all is what lets a copy
 * of the data open in another project, because RabbitMQ ties its data to the node's name.
 *
 * The price: `rabbitmqctl` cannot reach it. The management port does what a project needs of it.
 */
const nodeName = 'stackquay@localhost'

/**
 * Read by every Erlang that this one starts, too: RabbitMQ calls `erl` every minute only so that there is an epmd. An
 * Erlang that did not know `-dist_listen` would listen on loopback, for a cookie that nobody else can read.
 */
const alone = '-start_epmd false -erl_epmd_port 1 -dist_listen false -kernel inet_dist_use_interface {127,0,0,1}'

export function environment(input: ServiceInput, data: string) {
  const absent = `${data}/none`
  const [amqp, management] = [input.listen('amqp'), input.listen('management')]
  return {
    HOME: data,
    PASSWORD: input.secret('password'),
    DEFINITIONS: definitions,
    MANAGEMENT_ADDRESS: management.address,
    MANAGEMENT_PORT: String(management.port),
    LC_ALL: 'C.UTF-8',
    ERL_ZFLAGS: alone,
    // No epmd is there and none can be started there; the machine's own, if it has one, never hears of this node.
    ERL_EPMD_PORT: '1',
    // No file of many megabytes for each crash.
    ERL_CRASH_DUMP_SECONDS: '0',
    RABBITMQ_NODENAME: nodeName,
    RABBITMQ_NODE_IP_ADDRESS: amqp.address,
    RABBITMQ_NODE_PORT: String(amqp.port),
    RABBITMQ_MNESIA_BASE: data,
    RABBITMQ_MNESIA_DIR: `${data}/node`,
    RABBITMQ_FEATURE_FLAGS_FILE: `${data}/feature_flags`,
    RABBITMQ_ENABLED_PLUGINS_FILE: `${data}/enabled_plugins`,
    RABBITMQ_PLUGINS_EXPAND_DIR: `${data}/plugins`,
    RABBITMQ_GENERATED_CONFIG_DIR: `${data}/config`,
    RABBITMQ_PID_FILE: `${data}/pid`,
    RABBITMQ_LOG_BASE: `${data}/log`,
    // Standard output.
    RABBITMQ_LOGS: '-',
    // What the machine's own broker is told is not for this one.
    RABBITMQ_CONF_ENV_FILE: absent,
    RABBITMQ_CONFIG_FILE: absent,
    RABBITMQ_CONFIG_FILES: `${absent}/*.conf`,
    RABBITMQ_ADVANCED_CONFIG_FILE: absent,
    RABBITMQ_MOTD_FILE: absent,
    // Its script becomes Erlang, instead of waiting beside it.
    RUNNING_UNDER_SYSTEMD: 'true',
    // Its script starts Erlang alone; argv below starts the broker after what must come first.
    RABBITMQ_NODE_ONLY: 'true',
    // Nodes that tie their threads to processors would all choose the same ones.
    RABBITMQ_SCHEDULER_BIND_TYPE: 'u',
    // Variables are UTF-8 whatever the machine's locale. Two threads are plenty for one project, and cost less memory than
    // one for each processor.
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: `+fnu +S 2:2 -sname ${nodeName}`,
  }
}

export function startNode(input: ServiceInput): readonly [string, ...string[]] {
  const server = `${input.toolchain?.directory ?? ''}/rabbitmq-server`
  return [
    '/bin/sh',
    '-c',
    script,
    'rabbitmq',
    server,
    '-eval',
    holdPorts,
    '-eval',
    before,
    '-s',
    'rabbit',
    'boot',
    '-eval',
    after,
  ]
}

/** The cookie is made anew at every start: half a one, left by a kill, would prevent all later ones. */
const script = `umask 077
rm -f .erlang.cookie
exec "$@"
`

/**
 * RabbitMQ opens its ports seconds after its start, and ends when it cannot. Where the ports of workloads lie among those
 * that Linux gives to outgoing connections, any client of the machine may have one just then, and even a closed
 * connection keeps its port for a minute. So the ports are bound first, without listening: Linux then gives them to no
 * client, and lets RabbitMQ listen there all the same. The sockets are closed with the process that evaluates this, which
 * is the one that starts RabbitMQ, once that is done.
 *
 * A port that stays taken is left to RabbitMQ, which says so. Elsewhere two sockets cannot be bound to one port, and a
 * closed connection is in nobody's way.
 */
const holdPorts = `
Deadline = erlang:monotonic_time(millisecond) + 75000,
Hold = fun(Hold, {Host, Number} = Place, Told) ->
  {ok, Address} = inet:parse_ipv4_address(os:getenv(Host)),
  Port = list_to_integer(os:getenv(Number)),
  {ok, Socket} = socket:open(inet, stream, tcp),
  ok = socket:setopt(Socket, socket, reuseaddr, true),
  case socket:bind(Socket, #{family => inet, addr => Address, port => Port}) of
    {error, eaddrinuse} ->
      socket:close(Socket),
      Told orelse io:format("Waiting for port ~b, which a connection of another program holds.~n", [Port]),
      case erlang:monotonic_time(millisecond) < Deadline of
        true -> timer:sleep(100), Hold(Hold, Place, true);
        false -> taken
      end;
    _ -> Socket
  end
end,
catch case os:type() of
  {unix, linux} ->
    % A socket that nothing refers to may be closed at any time.
    put(stackquay_ports, [Hold(Hold, Place, false) || Place <- [
      {"RABBITMQ_NODE_IP_ADDRESS", "RABBITMQ_NODE_PORT"},
      {"MANAGEMENT_ADDRESS", "MANAGEMENT_PORT"}
    ]]);
  _ -> elsewhere
end.
`

/**
 * - The password is that of now at every start, imported before the first client is let in; only its salted hash is
 *   written down. Because there is something to import, RabbitMQ never makes its user "guest".
 * - At SIGTERM the management plugin would wait five seconds for Erlang's list of applications, which waits for the
 *   plugin, and the console two for whoever reads it. Here the plugin's part ends first, then RabbitMQ closes its data
 *   (once it is up), and then nothing is left to wait for. Should this not work, it ends as slowly as it does by itself.
 * - The part that could write to the machine's log service opens a port for it although nothing is ever sent.
 * - A kill in the moment in which the first start makes a table of quorum queues leaves a file without its head, which RabbitMQ
 *   refuses at every start from then on. Such a file is deleted where no queue has a folder beside it: it never held anything.
 */
const before = `
Data = os:getenv("HOME"),

catch begin
  Node = filename:join(Data, "node"),
  Holds = fun(Folder) ->
    {ok, Names} = file:list_dir(Folder),
    lists:any(fun(Name) -> filelib:is_dir(filename:join(Folder, Name)) end, Names)
  end,
  [file:delete(Table) ||
    Found <- filelib:wildcard("{quorum,coordination}/*/{names,meta}.dets", Node),
    Table <- [filename:join(Node, Found)],
    dets:is_dets_file(Table) =:= false,
    not Holds(filename:dirname(Table))]
end,

Password = unicode:characters_to_binary(os:getenv("PASSWORD")),
os:unsetenv("PASSWORD"),
Salt = crypto:strong_rand_bytes(4),
Hash = base64:encode(<<Salt/binary, (crypto:hash(sha256, [Salt, Password]))/binary>>),
Definitions = filename:join(Data, "definitions.json"),
ok = file:write_file(Definitions, string:replace(os:getenv("DEFINITIONS"), "HASH", Hash)),

Plugins = [Plugin || Plugin <- [rabbitmq_management], code:lib_dir(Plugin) =/= {error, bad_name}],
ok = file:write_file(os:getenv("RABBITMQ_ENABLED_PLUGINS_FILE"), io_lib:format("~p.~n", [Plugins])),

Set = fun(App, Name, Value) -> ok = application:set_env(App, Name, Value, [{persistent, true}]) end,
Set(rabbit, load_definitions, Definitions),
Set(syslog, protocol, {rfc5424, standard_error}),
Set(rabbit, auth_mechanisms, ['PLAIN', 'AMQPLAIN']),
Set(rabbitmq_management, tcp_config, [
  {ip, os:getenv("MANAGEMENT_ADDRESS")},
  {port, list_to_integer(os:getenv("MANAGEMENT_PORT"))}
]),

catch begin
  Form = fun(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Parsed} = erl_parse:parse_form(Tokens),
    Parsed
  end,
  {ok, Module, Code} = compile:forms([Form(Text) || Text <- [
    "-module(stackquay_signals).",
    "-export([init/1, handle_event/2, handle_call/2, stop/0]).",
    "init(_) -> {ok, nothing}.",
    "handle_call(_, State) -> {ok, ok, State}.",
    "handle_event(sigterm, State) -> spawn(fun stop/0), {ok, State};"
    "handle_event(_, State) -> {ok, State}.",
    "stop() -> register(stackquay_signals, self()),"
    "  catch gen_event:delete_handler(rabbit_event, rabbit_mgmt_db_handler, stop),"
    "  try rabbit:stop(), halt(0) catch _:_ -> init:stop() end."
  ]]),
  {module, Module} = code:load_binary(Module, "", Code),
  ok = gen_event:swap_handler(erl_signal_server, {erl_signal_handler, []}, {Module, []})
end.
`

/**
 * Nobody needs the watch over epmd. And a version opens data of the one before only when all that was new in that is
 * switched on. Neither is needed to serve, so a failure is no reason to end.
 */
const after = `
catch rabbit_sup:stop_child(rabbit_epmd_monitor_sup),
catch rabbit_feature_flags:enable_all().
`
