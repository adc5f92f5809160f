using System.Net;
using System.Net.Sockets;

namespace Millrace.Engine.Tests.Wire.Kit;

/// <summary>A group that serves one handler on one address.</summary>
internal sealed record TestServer(EngineTest Test, ReactorGroup Group, Listener Listener)
{
    public EndPoint EndPoint => Listener.EndPoint;

    public Reactor Reactor => Group.Reactors[0];

    public Task<TestClient> Connect(int? receiveBufferBytes = null) => Test.Connect(EndPoint, receiveBufferBytes);

    /// <summary>Connects and demands a reset, which may come so early that connecting itself fails.</summary>
    public async Task ExpectReset(byte[] request)
    {
        SocketException error = await Assert.ThrowsAsync<SocketException>(async () =>
        {
            TestClient client = await Connect();
            await client.Send(request);
            await client.ReceiveToEnd();
        });
        Assert.Contains(error.SocketErrorCode, new[] { SocketError.ConnectionReset, SocketError.Shutdown });
    }

    /// <summary>Connections that reactors hold, the lingering ones included. A glance from another thread.</summary>
    public int Connections => Group.Reactors.Sum(static reactor => reactor.Connections.Count);

    public Task Emptied() => EngineTest.Eventually(() => Connections == 0, () => $"{Connections} connections stayed");

    /// <summary>Runs something on the reactor's thread and brings its result.</summary>
    public Task<T> AtHome<T>(Func<T> check)
    {
        var done = new TaskCompletionSource<T>(TaskCreationOptions.RunContinuationsAsynchronously);
        Reactor.Post(_ => done.SetResult(check()), null);
        return done.Task.WaitAsync(EngineTest.Patience);
    }
}
