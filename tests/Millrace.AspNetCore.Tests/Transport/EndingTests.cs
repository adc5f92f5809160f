using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Millrace.AspNetCore.Tests.Transport.Kit;
using Millrace.Engine.Connections;

namespace Millrace.AspNetCore.Tests.Transport;

/// <summary>Every way a connection ends, as the peer and as the application see it.</summary>
public class EndingTests : TransportTest
{
    private const int Large = 8 * 1024 * 1024;

    [Fact]
    public async Task The_peers_end_completes_the_input_and_then_fires_ConnectionClosed_on_the_pool()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync();
        Task<bool> closed = connection.ConnectionClosed.FiredAsync();
        await peer.SendAsync("last words");
        peer.Socket.Shutdown(System.Net.Sockets.SocketShutdown.Send);

        ReadResult result = await connection.Transport.Input.ReadAtLeastAsync(1000).Within();
        Assert.Equal((10, true), (result.Buffer.Length, result.IsCompleted));
        Assert.True(await closed);
        Assert.Contains("ConnectionReadFin", Logs.Names);
    }

    [Fact]
    public async Task After_the_peers_end_the_application_may_still_answer()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync();
        peer.Socket.Shutdown(System.Net.Sockets.SocketShutdown.Send);
        await connection.ConnectionClosed.FiredAsync();
        await connection.Transport.Output.WriteAsync("answer".Ascii()).Within();
        await connection.Transport.Output.CompleteAsync();
        Assert.Equal("answer".Ascii(), await peer.ReceiveToEndAsync());
    }

    [Fact]
    public async Task The_peers_reset_fails_the_input_and_fires_ConnectionClosed()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync();
        Task<bool> closed = connection.ConnectionClosed.FiredAsync();
        peer.Reset();
        await Assert.ThrowsAsync<ConnectionResetException>(() => connection.Transport.Input.ReadAsync().Within());
        Assert.True(await closed);
        Assert.Contains("ConnectionReset", Logs.Names);
    }

    [Fact]
    public async Task An_end_whose_line_cannot_be_logged_is_reported_all_the_same()
    {
        Logs.Throws = true;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        Task<bool> closed = connection.ConnectionClosed.FiredAsync();
        peer.Reset();
        await Assert.ThrowsAsync<ConnectionResetException>(() => connection.Transport.Input.ReadAsync().Within());
        Assert.True(await closed);

        (peer, connection) = await PairAsync();
        connection.Abort(new ConnectionAbortedException("enough"));
        await peer.ExpectResetAsync();
        Assert.Contains("ConnectionWriteRst", Logs.Names);
    }

    [Fact]
    public async Task A_reset_in_mid_answer_is_reported_by_the_flush()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync();
        ValueTask<FlushResult> flush = connection.Transport.Output.WriteAsync(new byte[Large]);
        await peer.ReceiveAsync(1000);
        Assert.False(flush.IsCompleted);
        peer.Reset();
        Assert.True((await flush.Within()).IsCompleted);
    }

    [Fact]
    public async Task An_abort_is_a_reset_also_of_a_connection_that_waits_to_send_and_to_receive()
    {
        Options.MaxReadBufferSize = 1;
        (Peer peer, ConnectionContext connection) = await PairAsync(receiveBufferBytes: 4096);
        Task<bool> closed = connection.ConnectionClosed.FiredAsync();
        await peer.SendAsync(new byte[100_000]);
        ValueTask<FlushResult> flush = connection.Transport.Output.WriteAsync(new byte[Large]);
        await ReceivePausedAsync();

        await Task.Run(() => connection.Abort(new ConnectionAbortedException("enough")));
        connection.Abort(new ConnectionAbortedException("more than enough"));
        Assert.True((await flush.Within()).IsCompleted);
        Assert.True(await closed);
        await peer.ExpectResetAsync();
        Assert.Equal(
            ["Connection id \"" + connection.ConnectionId + "\" sending RST because: \"enough\""],
            Logs.Entries.Where(static entry => entry.Event.Id is 7 or 8).Select(static entry => entry.Text));
    }

    [Fact]
    public async Task The_reason_of_an_abort_is_what_the_input_fails_with()
    {
        (_, ConnectionContext connection) = await PairAsync();
        var reason = new ConnectionAbortedException("enough");
        Task<ReadResult> read = connection.Transport.Input.ReadAsync().Within();
        connection.Abort(reason);
        Assert.Same(reason, await Assert.ThrowsAsync<ConnectionAbortedException>(() => read));
    }

    [Fact]
    public async Task An_abort_for_no_reason_is_a_FIN()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync();
        connection.Abort(null!);
        Assert.Empty(await peer.ReceiveToEndAsync());
        await connection.ConnectionClosed.FiredAsync();
        Assert.Contains("ConnectionWriteFin", Logs.Names);
    }

    [Fact]
    public async Task FinOnError_makes_an_abort_a_FIN()
    {
        Options.FinOnError = true;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        connection.Features.Get<IConnectionLifetimeFeature>()!.Abort();
        Assert.Empty(await peer.ReceiveToEndAsync());
    }

    [Theory]
    [InlineData(TransportScheduling.Inline)]
    [InlineData(TransportScheduling.ThreadPool)]
    public async Task A_completed_output_is_sent_to_its_last_byte_before_the_FIN(TransportScheduling scheduling)
    {
        Options.Scheduling = scheduling;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        byte[] response = new byte[Large];
        Random.Shared.NextBytes(response);
        Task<byte[]> received = peer.ReceiveToEndAsync();
        await connection.Transport.Output.WriteAsync(response).Within();
        await connection.Transport.Output.CompleteAsync();
        Assert.Equal(response, await received);
        await connection.DisposeAsync().AsTask().Within();
    }

    [Fact]
    public async Task A_connection_that_is_disposed_of_before_any_read_ends_in_order()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync();
        await connection.DisposeAsync().AsTask().Within();
        Assert.Empty(await peer.ReceiveToEndAsync());
    }

    [Fact]
    public async Task Disposal_waits_for_the_callbacks_of_ConnectionClosed()
    {
        (_, ConnectionContext connection) = await PairAsync();
        using var release = new ManualResetEventSlim();
        connection.ConnectionClosed.Register(() => release.Wait(TimeSpan.FromSeconds(30)));
        Task disposal = connection.DisposeAsync().AsTask();
        await Task.Delay(100);
        Assert.False(disposal.IsCompleted);
        release.Set();
        await disposal.Within();
    }

    [Fact]
    public async Task The_callbacks_of_ConnectionClosed_do_not_keep_the_engines_connection()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync();
        ConnectionTable engines = connection.Features.Get<IReactorFeature>()!.Reactor.Connections;
        using var release = new ManualResetEventSlim();
        connection.ConnectionClosed.Register(() => release.Wait(TimeSpan.FromSeconds(30)));
        Task disposal = connection.DisposeAsync().AsTask();
        Assert.Empty(await peer.ReceiveToEndAsync());
        peer.Socket.Close();
        await Waiting.UntilAsync(() => engines.Count == 0, "the engine's connection ended");
        Assert.False(disposal.IsCompleted);
        release.Set();
        await disposal.Within();
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_server_that_ends_resets_what_nobody_ended()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync();
        await Factory.DisposeAsync().AsTask().Within();
        await peer.ExpectResetAsync();
        await connection.ConnectionClosed.FiredAsync();
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task What_was_received_in_part_when_the_server_ended_does_not_read_as_all()
    {
        Options.MaxReadBufferSize = 1;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        await peer.SendAsync(new byte[100_000]);
        await ReceivePausedAsync();
        await Factory.DisposeAsync().AsTask().Within();
        await Assert.ThrowsAsync<ConnectionResetException>(async () =>
        {
            ReadResult result;
            while (!(result = await connection.Transport.Input.ReadAsync().Within()).IsCompleted)
            {
                connection.Transport.Input.AdvanceTo(result.Buffer.End);
            }
        });
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_connection_whose_receive_was_paused_when_the_server_ended_can_be_disposed_of_and_is_notified()
    {
        Options.MaxReadBufferSize = 1;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        var closed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using CancellationTokenRegistration reported = connection.ConnectionClosed.Register(closed.SetResult);
        await peer.SendAsync(new byte[100_000]);
        await ReceivePausedAsync();
        await Factory.DisposeAsync().AsTask().Within();
        connection.Transport.Input.Complete();
        await closed.Task.Within();
        await connection.DisposeAsync().AsTask().Within();
    }

    [Fact]
    public async Task An_answer_that_was_sent_survives_the_end_of_the_server()
    {
        // A slow peer: most of it is in our kernel yet, which a reset would have dropped.
        (Peer peer, ConnectionContext connection) = await PairAsync(receiveBufferBytes: 4096);
        byte[] response = new byte[50_000];
        await connection.Transport.Output.WriteAsync(response).Within();
        await connection.DisposeAsync().AsTask().Within();
        await Factory.DisposeAsync().AsTask().Within();
        Assert.Equal(response, await peer.ReceiveToEndAsync());
    }
}
