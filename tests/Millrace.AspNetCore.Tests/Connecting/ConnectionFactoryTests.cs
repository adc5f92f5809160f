using System.Buffers;
using System.IO.Pipelines;
using System.Net;
using System.Net.Sockets;
using System.Text;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Millrace.AspNetCore.Connecting;
using Millrace.AspNetCore.Tests.Transport.Kit;
using Millrace.Engine;

namespace Millrace.AspNetCore.Tests.Connecting;

/// <summary>Connections that application code makes on the reactors, against plain sockets.</summary>
public class ConnectionFactoryTests : TransportTest
{
    private MillraceConnectionFactory? _connections;

    private MillraceConnectionFactory Connections =>
        _connections ??= new(Factory, Microsoft.Extensions.Options.Options.Create(Options), Logs);

    [Theory]
    [InlineData("tcp")]
    [InlineData("unix")]
    [InlineData("name")]
    public async Task Bytes_go_both_ways_over_a_connection(string kind)
    {
        using Socket listener = Listen(kind);
        EndPoint endPoint = kind == "name"
            ? new DnsEndPoint("localhost", ((IPEndPoint)listener.LocalEndPoint!).Port)
            : listener.LocalEndPoint!;
        await using ConnectionContext connection = await Connections.ConnectAsync(endPoint).Within();
        using var peer = new Peer(await listener.AcceptAsync().Within());
        await connection.Transport.Output.WriteAsync("out"u8.ToArray()).Within();
        Assert.Equal("out", await peer.ReceiveAsync(3));
        await peer.SendAsync("and back");
        Assert.Equal("and back", await ReadAsync(connection.Transport.Input, 8));

        Assert.Equal(listener.LocalEndPoint, connection.RemoteEndPoint);
        Assert.NotEmpty(connection.ConnectionId);
        Assert.NotNull(connection.Features.Get<IConnectionSocketFeature>());
        Assert.NotNull(connection.Features.Get<IReactorFeature>()?.Reactor);
    }

    [Fact]
    public async Task The_peers_end_and_our_own_are_reported()
    {
        using Socket listener = Listen("tcp");
        ConnectionContext connection = await Connections.ConnectAsync(listener.LocalEndPoint!).Within();
        using var peer = new Peer(await listener.AcceptAsync().Within());
        peer.Socket.Shutdown(SocketShutdown.Send);
        Assert.True((await connection.Transport.Input.ReadAsync().Within()).IsCompleted);
        var closed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using CancellationTokenRegistration registration = connection.ConnectionClosed.Register(closed.SetResult);
        await closed.Task.Within();
        await connection.Transport.Output.WriteAsync("last words"u8.ToArray()).Within();
        await connection.DisposeAsync().AsTask().Within();
        Assert.Equal("last words", Encoding.ASCII.GetString(await peer.ReceiveToEndAsync()));
    }

    [Fact]
    public async Task An_abort_is_a_reset_and_a_reset_is_an_error()
    {
        using Socket listener = Listen("tcp");
        await using ConnectionContext aborted = await Connections.ConnectAsync(listener.LocalEndPoint!).Within();
        using var peer = new Peer(await listener.AcceptAsync().Within());
        aborted.Abort();
        await peer.ExpectResetAsync();

        await using ConnectionContext reset = await Connections.ConnectAsync(listener.LocalEndPoint!).Within();
        using var rude = new Peer(await listener.AcceptAsync().Within());
        rude.Reset();
        await Assert.ThrowsAsync<ConnectionResetException>(() => reset.Transport.Input.ReadAsync().Within());
    }

    [Fact]
    public async Task A_caller_on_a_reactor_stays_there_and_others_have_each_in_turn()
    {
        Options.ReactorCount = 2;
        using Socket listener = Listen("tcp");
        ReactorGroup group = await Factory.Reactors.StartedAsync(CancellationToken.None);
        foreach (Reactor reactor in group.Reactors)
        {
            for (int i = 0; i < 3; i++)
            {
                await reactor.SwitchTo();
                await using ConnectionContext connection = await Connections.ConnectAsync(listener.LocalEndPoint!);
                Assert.True(reactor.IsReactorThread);
                Assert.Same(reactor, connection.Features.Get<IReactorFeature>()!.Reactor);
                await Task.Yield();
            }
        }

        var taken = new List<Reactor>();
        for (int i = 0; i < 4; i++)
        {
            await using ConnectionContext connection = await Connections.ConnectAsync(listener.LocalEndPoint!).AsTask();
            Assert.Null(Reactor.Current);
            taken.Add(connection.Features.Get<IReactorFeature>()!.Reactor);
        }

        Assert.Equal(2, taken.Distinct().Count());
        Assert.Same(taken[0], taken[2]);
    }

    [Fact]
    public async Task What_cannot_be_had_is_reported_as_by_a_socket()
    {
        using var silent = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        silent.Bind(AnyPort);
        SocketException refusal = await Assert.ThrowsAsync<SocketException>(
            () => Connections.ConnectAsync(silent.LocalEndPoint!).AsTask());
        Assert.Null(Reactor.Current);
        Assert.Equal(SocketError.ConnectionRefused, refusal.SocketErrorCode);
        var name = new DnsEndPoint("localhost", ((IPEndPoint)silent.LocalEndPoint!).Port);
        refusal = await Assert.ThrowsAsync<SocketException>(() => Connections.ConnectAsync(name).Within());
        Assert.Equal(SocketError.ConnectionRefused, refusal.SocketErrorCode);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => Connections.ConnectAsync(silent.LocalEndPoint!, new CancellationToken(canceled: true)).Within());
    }

    [Fact]
    public async Task Hundreds_of_connections_come_and_go_without_a_trace()
    {
        using Socket listener = Listen("tcp");
        await Factory.Reactors.StartedAsync(CancellationToken.None);
        int before = Kit.Descriptors.CountSockets();
        for (int i = 0; i < 300; i++)
        {
            ConnectionContext connection = await Connections.ConnectAsync(listener.LocalEndPoint!).Within();
            using var peer = new Peer(await listener.AcceptAsync().Within());
            await connection.Transport.Output.WriteAsync("x"u8.ToArray()).Within();
            Assert.Equal("x", await peer.ReceiveAsync(1));
            peer.Dispose();
            await connection.DisposeAsync().AsTask().Within();
        }

        await Kit.Descriptors.ReturnToAsync(before);
    }

    [Fact]
    public async Task A_stream_reads_writes_and_ends_its_connection()
    {
        using Socket listener = Listen("tcp");
        ConnectionContext connection = await Connections.ConnectAsync(listener.LocalEndPoint!).Within();
        using var peer = new Peer(await listener.AcceptAsync().Within());
        Stream stream = connection.AsStream();
        await stream.WriteAsync("out"u8.ToArray()).AsTask().Within();
        Assert.Equal("out", await peer.ReceiveAsync(3));
        await peer.SendAsync("back");
        byte[] buffer = new byte[10];
        Assert.Equal(4, await stream.ReadAtLeastAsync(buffer, 4).Within());

        // One that still waits, as a pool of connections does to see the other's end, is ended when the stream is given up.
        Task<int> waits = stream.ReadAsync(buffer).AsTask();
        stream.Dispose();
        Exception? end = await Record.ExceptionAsync(() => waits.Within());
        Assert.True(end is OperationCanceledException, end?.ToString());
        Assert.Empty(await peer.ReceiveToEndAsync());
    }

    [Fact]
    public async Task An_application_has_one_unless_it_has_its_own()
    {
        await using Kit.RunningApplication application = await Kit.RunningApplication.StartAsync(
            Kit.TransportKind.Millrace, static context => context.Response.WriteAsync("answer"));
        IConnectionFactory connections = application.Services.GetRequiredService<IConnectionFactory>();
        Assert.IsType<MillraceConnectionFactory>(connections);
        await using ConnectionContext connection = await connections.ConnectAsync(application.EndPoint).Within();
        await connection.Transport.Output.WriteAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n"u8.ToArray()).Within();
        Assert.StartsWith("HTTP/1.1 200 ", await ReadAsync(connection.Transport.Input, 13), StringComparison.Ordinal);

        await using Kit.RunningApplication other = await Kit.RunningApplication.StartAsync(
            Kit.TransportKind.Millrace,
            static context => context.Response.WriteAsync("answer"),
            host: static host => host.ConfigureServices(
                static services => services.AddSingleton<IConnectionFactory, Own>().AddMillraceTransport()));
        Assert.IsType<Own>(other.Services.GetServices<IConnectionFactory>().Last());
    }

    [Fact]
    public async Task Where_there_are_no_reactors_sockets_connect()
    {
        using Socket listener = Listen("tcp");
        await using ConnectionContext connection =
            await Connections.ConnectSocketAsync(listener.LocalEndPoint!, CancellationToken.None).Within();
        using var peer = new Peer(await listener.AcceptAsync().Within());
        await connection.Transport.Output.WriteAsync("out"u8.ToArray()).Within();
        Assert.Equal("out", await peer.ReceiveAsync(3));
        Assert.Null(connection.Features.Get<IReactorFeature>());
    }

    private static async Task<string> ReadAsync(PipeReader input, int atLeast)
    {
        ReadResult result = await input.ReadAtLeastAsync(atLeast).Within();
        string text = Encoding.ASCII.GetString(result.Buffer.ToArray());
        input.AdvanceTo(result.Buffer.End);
        return text;
    }

    private static Socket Listen(string kind)
    {
        Socket listener = kind == "unix"
            ? new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
            : new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(kind == "unix" ? new UnixDomainSocketEndPoint($"\0millrace-{Guid.NewGuid():N}") : AnyPort);
        listener.Listen();
        return listener;
    }

    private sealed class Own : IConnectionFactory
    {
        public ValueTask<ConnectionContext> ConnectAsync(EndPoint endpoint, CancellationToken cancellationToken = default) =>
            throw new NotSupportedException();
    }
}
