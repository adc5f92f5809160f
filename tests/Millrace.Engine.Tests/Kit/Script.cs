using System.Net;
using Millrace.Engine.Filters;
using Millrace.Engine.Listening;

namespace Millrace.Engine.Tests.Kit;

/// <summary>A reactor over a <see cref="ScriptedBackend"/>. Its sockets are numbers.</summary>
internal sealed class Script : IAsyncDisposable
{
    public static readonly IPEndPoint Nowhere = new(IPAddress.Loopback, 1);

    private Script(ScriptedBackend backend, LogCapture log, Limits limits)
    {
        Kernel = backend;
        Log = log;
        Reactor = new Reactor(0, limits, new EngineLog(log), () => backend);
    }

    public ScriptedBackend Kernel { get; }

    public Reactor Reactor { get; }

    public LogCapture Log { get; }

    public static async Task<Script> StartAsync(Limits? limits = null)
    {
        var script = new Script(new ScriptedBackend(), new LogCapture(), limits ?? new Limits());
        await script.Reactor.StartAsync().Within();
        return script;
    }

    /// <summary>A peer connects; the receive that the connection arms is the result.</summary>
    public async Task<Submission> ConnectAsync(
        int socket,
        ConnectionHandler handler,
        Func<Connection, IReadOnlyList<ConnectionFilter>>? filters = null,
        EndPoint? endPoint = null)
    {
        var core = new ListenerContext(endPoint ?? Nowhere, handler, filters);
        await Reactor.AskAsync(() =>
        {
            Reactor.Admission.Acquire(socket, core);
            return true;
        });
        return await Kernel.ExpectAsync("receive");
    }

    /// <summary>Listens; the accept is the result.</summary>
    public async Task<Submission> ListenAsync(int socket, ConnectionHandler handler)
    {
        var core = new ListenerContext(Nowhere, handler, filters: null);
        await Reactor.AskAsync(() => Acceptor.Start(Reactor, socket, core, Reactor.Admission.Acquire));
        return await Kernel.ExpectAsync("accept");
    }

    /// <summary>The slots in use once all that the test said has been dealt with: the first question may overtake a completion.</summary>
    public async Task<int> ConnectionsAsync()
    {
        await Reactor.AskAsync(() => 0);
        return await Reactor.AskAsync(() => Reactor.Connections.Count);
    }

    /// <summary>Expects the end in order or by reset, up to the returned slot.</summary>
    public async Task ExpectClosedAsync(int socket)
    {
        Assert.Equal(socket, (await Kernel.ExpectAsync("close")).Socket);
        Assert.Equal(0, await ConnectionsAsync());
    }

    public async ValueTask DisposeAsync()
    {
        Kernel.CancelAll();
        await Reactor.StopAsync(TimeSpan.Zero).Within();
        Assert.Equal((0, 0, 0), (Reactor.Connections.Count, Reactor.Pools.Lent, Kernel.BuffersLent));
    }
}
