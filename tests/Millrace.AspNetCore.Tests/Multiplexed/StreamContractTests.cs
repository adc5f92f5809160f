using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.Tests.Multiplexed.Kit;
using Millrace.AspNetCore.Tests.Transport.Kit;
using Millrace.Tests.Shared;
using ConnectionContext = Microsoft.AspNetCore.Connections.ConnectionContext;

namespace Millrace.AspNetCore.Tests.Multiplexed;

/// <summary>A stream's context, and every way a stream ends, as the peer and as the application see it.</summary>
public class StreamContractTests : MultiplexedTest
{
    private const int Large = 4 * 1024 * 1024;

    [Fact]
    public async Task A_stream_has_the_features_of_the_contract()
    {
        (Http3TestStream peer, ConnectionContext stream, MultiplexedConnectionContext connection) = await StreamsAsync([1]);
        IFeatureCollection features = stream.Features;
        Assert.Equal(peer.Id, features.GetRequiredFeature<IStreamIdFeature>().StreamId);
        IStreamDirectionFeature direction = features.GetRequiredFeature<IStreamDirectionFeature>();
        Assert.Equal((true, true), (direction.CanRead, direction.CanWrite));
        Assert.Equal(-1, features.GetRequiredFeature<IProtocolErrorCodeFeature>().Error);
        Assert.NotNull(features.Get<IStreamAbortFeature>());
        Assert.NotNull(features.Get<IStreamClosedFeature>());
        Assert.NotNull(features.Get<IPersistentStateFeature>());
        Assert.NotNull(features.Get<IMemoryPoolFeature>()!.MemoryPool);
        Assert.Same(stream, features.Get<IConnectionIdFeature>());
        Assert.Same(connection.Features.Get<ITlsHandshakeFeature>(), features.Get<ITlsHandshakeFeature>());
        Assert.Equal($"{connection.ConnectionId}:00000000", stream.ConnectionId);
        Assert.Equal(connection.RemoteEndPoint, stream.RemoteEndPoint);
        Assert.Throws<ArgumentOutOfRangeException>(() => features.Get<IProtocolErrorCodeFeature>()!.Error = -2);
        Assert.Throws<ArgumentOutOfRangeException>(() => features.Get<IProtocolErrorCodeFeature>()!.Error = 1L << 62);
    }

    [Fact]
    public async Task Bytes_and_the_end_pass_both_ways()
    {
        (Http3TestStream peer, ConnectionContext stream, _) = await StreamsAsync("question".Ascii(), isEnd: true);
        ReadResult read = await stream.Transport.Input.ReadAtLeastAsync(100).Within();
        Assert.Equal((8, true), (read.Buffer.Length, read.IsCompleted));
        stream.Transport.Input.AdvanceTo(read.Buffer.End);
        await stream.Transport.Output.WriteAsync("answer".Ascii()).Within();
        await stream.Transport.Output.CompleteAsync();
        Assert.Equal("answer".Ascii(), await peer.ReadToEndAsync());
        await stream.DisposeAsync().AsTask().Within();
        await peer.Closed;
    }

    [Fact]
    public async Task A_stream_of_one_direction_is_read_only()
    {
        (_, ConnectionContext stream, _) = await StreamsAsync("bytes".Ascii(), isEnd: true, isBidirectional: false);
        IStreamDirectionFeature direction = stream.Features.GetRequiredFeature<IStreamDirectionFeature>();
        Assert.Equal((true, false), (direction.CanRead, direction.CanWrite));
        Assert.True((await stream.Transport.Input.ReadAtLeastAsync(100).Within()).IsCompleted);
        Assert.True((await stream.Transport.Output.WriteAsync("answer".Ascii()).Within()).IsCompleted);
        Assert.Throws<InvalidOperationException>(
            () => stream.Features.Get<IStreamAbortFeature>()!.AbortWrite(1, new ConnectionAbortedException()));
        await stream.DisposeAsync().AsTask().Within();
    }

    [Fact]
    public async Task The_peers_reset_fails_the_input_with_its_code()
    {
        (Http3TestStream peer, ConnectionContext stream, _) = await StreamsAsync([1]);
        peer.Abort(0x77);
        await Assert.ThrowsAsync<ConnectionResetException>(async () =>
        {
            while (true)
            {
                ReadResult read = await stream.Transport.Input.ReadAsync().Within();
                stream.Transport.Input.AdvanceTo(read.Buffer.End);
            }
        });
        Assert.Equal(0x77, stream.Features.Get<IProtocolErrorCodeFeature>()!.Error);
        Assert.Contains("StreamAbortedRead", Logs.Names);
    }

    [Fact]
    public async Task A_peer_that_stops_reading_ends_the_output_with_its_code()
    {
        (Http3TestStream peer, ConnectionContext stream, _) = await StreamsAsync([1], isEnd: true);
        ValueTask<FlushResult> flush = stream.Transport.Output.WriteAsync(new byte[Large]);
        peer.StopSending(0x78);
        Assert.True((await flush.Within()).IsCompleted);
        Assert.Equal(0x78, stream.Features.Get<IProtocolErrorCodeFeature>()!.Error);
        Assert.Contains("StreamAbortedWrite", Logs.Names);
    }

    [Fact]
    public async Task The_end_of_both_sides_is_reported_to_callbacks_and_to_the_token()
    {
        (Http3TestStream peer, ConnectionContext stream, _) = await StreamsAsync([1], isEnd: true);
        var called = new TaskCompletionSource<object?>(TaskCreationOptions.RunContinuationsAsynchronously);
        stream.Features.Get<IStreamClosedFeature>()!.OnClosed(called.SetResult, "state");
        Task<bool> fired = Waiting.FiredAsync(stream.ConnectionClosed);
        await stream.Transport.Input.ReadAsync().Within();
        Assert.False(called.Task.IsCompleted);
        peer.StopSending();
        Assert.Equal("state", await called.Task.Within());
        Assert.True(await fired);
        bool isInline = false;
        stream.Features.Get<IStreamClosedFeature>()!.OnClosed(_ => isInline = true, null);
        Assert.True(isInline);
    }

    [Fact]
    public async Task An_abort_ends_both_sides_with_the_code_that_was_set()
    {
        (Http3TestStream peer, ConnectionContext stream, _) = await StreamsAsync([1]);
        Task<ReadResult> read = ReadOnAsync(stream);
        stream.Features.Get<IProtocolErrorCodeFeature>()!.Error = 0x99;
        var reason = new ConnectionAbortedException("enough");
        stream.Abort(reason);
        stream.Abort(new ConnectionAbortedException("more than enough"));
        Assert.Same(reason, await Assert.ThrowsAsync<ConnectionAbortedException>(() => read));
        Http3TestException end = await Assert.ThrowsAsync<Http3TestException>(peer.ReadToEndAsync);
        Assert.Equal(0x99, end.StreamCode);
        await peer.Stopped;
        Assert.Equal(0x99, peer.StopCode);
        peer.Abort();
        await stream.DisposeAsync().AsTask().Within();
    }

    [Fact]
    public async Task Either_side_is_aborted_alone_with_its_own_code()
    {
        (Http3TestStream peer, ConnectionContext stream, _) = await StreamsAsync([1]);
        IStreamAbortFeature abort = stream.Features.GetRequiredFeature<IStreamAbortFeature>();
        Task<ReadResult> read = ReadOnAsync(stream);
        var reason = new ConnectionAbortedException("no more of it");
        abort.AbortRead(0x11, reason);
        Assert.Same(reason, await Assert.ThrowsAsync<ConnectionAbortedException>(() => read));
        await peer.Stopped;
        Assert.Equal(0x11, peer.StopCode);
        Assert.False((await stream.Transport.Output.WriteAsync("still".Ascii()).Within()).IsCompleted);
        byte[] five = new byte[5];
        await ReadExactlyAsync(peer, five);
        Assert.Equal("still".Ascii(), five);
        abort.AbortWrite(0x12, new ConnectionAbortedException("nor this"));
        Http3TestException end = await Assert.ThrowsAsync<Http3TestException>(peer.ReadToEndAsync);
        Assert.Equal(0x12, end.StreamCode);
    }

    [Fact]
    public async Task An_output_completed_with_an_error_is_reset()
    {
        (Http3TestStream peer, ConnectionContext stream, _) = await StreamsAsync([1]);
        await stream.Transport.Output.CompleteAsync(new InvalidOperationException("broken"));
        Http3TestException end = await Assert.ThrowsAsync<Http3TestException>(peer.ReadToEndAsync);
        Assert.Equal(Http3Codes.RequestCancelled, end.StreamCode);
    }

    [Fact]
    public async Task An_output_that_waits_for_room_and_is_completed_with_an_error_is_reset_alone()
    {
        (Http3TestConnection peer, MultiplexedConnectionContext connection) = await PairAsync();
        Http3TestStream stream = await peer.SendAsync((byte[])[1], isEnd: true);
        ConnectionContext context = (await connection.AcceptAsync().Within())!;
        Task<FlushResult> flush = context.Transport.Output.WriteAsync(new byte[Large]).AsTask();
        await ReadExactlyAsync(stream, new byte[1000]);
        Assert.False(flush.IsCompleted);
        await context.Transport.Output.CompleteAsync(new InvalidOperationException("broken"));
        Http3TestException end = await Assert.ThrowsAsync<Http3TestException>(stream.ReadToEndAsync);
        Assert.Equal(Http3Codes.RequestCancelled, end.StreamCode);
        await ExchangeAsync(peer, connection);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task An_input_completed_with_an_error_stops_the_peer_and_harms_no_other_stream(bool isPaused)
    {
        Options.MaxReadBufferSize = 100_000;
        (Http3TestConnection peer, MultiplexedConnectionContext connection) = await PairAsync();
        Http3TestStream stream = await peer.SendAsync((byte[])[1], isEnd: false);
        ConnectionContext context = (await connection.AcceptAsync().Within())!;
        if (isPaused)
        {
            _ = stream.WriteAsync(new byte[Large]);
            await Waiting.UntilAsync(() => Logs.Names.Contains("StreamPause"), "the input paused");
        }

        await context.Transport.Input.CompleteAsync(new InvalidOperationException("broken"));
        if (!isPaused)
        {
            await stream.WriteAsync((byte[])[2]);
        }

        await stream.Stopped;
        Assert.Equal(Http3Codes.RequestCancelled, stream.StopCode);
        await ExchangeAsync(peer, connection);
    }

    [Fact]
    public async Task Disposal_of_a_stream_that_was_not_read_stops_the_peer()
    {
        (Http3TestStream peer, ConnectionContext stream, _) = await StreamsAsync([1]);
        Task disposal = stream.DisposeAsync().AsTask();
        await peer.Stopped;
        Assert.Equal(Http3Codes.RequestCancelled, peer.StopCode);
        Assert.Empty(await peer.ReadToEndAsync());

        // The peer has to answer with the end of its side.
        peer.Abort();
        await disposal.Within();
        await stream.DisposeAsync().AsTask().Within();
    }

    [Fact]
    public async Task What_the_application_does_not_read_holds_the_peer_back()
    {
        Options.MaxReadBufferSize = 100_000;
        (Http3TestStream peer, ConnectionContext stream, _) = await StreamsAsync([1]);
        Task write = peer.WriteAsync(new byte[Large], isEnd: true);
        await Waiting.UntilAsync(() => Logs.Names.Contains("StreamPause"), "the input paused");

        // Sleeps: that the peer does not go on has no event.
        await Task.Delay(200);
        Assert.False(write.IsCompleted);
        long read = 0;
        ReadResult result;
        do
        {
            result = await stream.Transport.Input.ReadAsync().Within();
            Assert.InRange(result.Buffer.Length, 0, 100_000 + (64 * 1024));
            read += result.Buffer.Length;
            stream.Transport.Input.AdvanceTo(result.Buffer.End);
        }
        while (!result.IsCompleted);
        Assert.Equal(Large + 1, read);
        await write;
        Assert.Contains("StreamResume", Logs.Names);
    }

    [Fact]
    public async Task What_the_peer_does_not_read_holds_the_application_back()
    {
        (Http3TestStream peer, ConnectionContext stream, _) = await StreamsAsync([1], isEnd: true);
        ValueTask<FlushResult> flush = stream.Transport.Output.WriteAsync(new byte[Large]);
        Task<FlushResult> flushed = flush.AsTask();

        // Sleeps: that the flush does not end has no event.
        await Task.Delay(200);
        Assert.False(flushed.IsCompleted);
        await stream.Transport.Output.CompleteAsync();
        Assert.Equal(Large, (await peer.ReadToEndAsync()).Length);
        await flushed.Within();
    }

    [Fact]
    public async Task A_context_that_ended_well_serves_the_next_stream_with_its_state()
    {
        (Http3TestConnection peer, MultiplexedConnectionContext connection) = await PairAsync();
        ConnectionContext first = await ExchangeAsync(peer, connection);
        IDictionary<object, object?> state = first.Features.GetRequiredFeature<IPersistentStateFeature>().State;
        state["kept"] = 1;
        first.Items["dropped"] = 1;
        first.Features.Set("dropped");
        string id = first.ConnectionId;
        ((IDisposable)first).Dispose();

        ConnectionContext second = await ExchangeAsync(peer, connection);
        Assert.Same(first, second);
        Assert.Equal(1, second.Features.GetRequiredFeature<IPersistentStateFeature>().State["kept"]);
        Assert.Empty(second.Items);
        Assert.Null(second.Features.Get<string>());
        Assert.NotEqual(id, second.ConnectionId);
    }

    [Fact]
    public async Task A_context_whose_stream_was_aborted_serves_no_other()
    {
        (Http3TestConnection peer, MultiplexedConnectionContext connection) = await PairAsync();
        Http3TestStream first = await peer.SendAsync("question".Ascii(), isEnd: false);
        ConnectionContext stream = (await connection.AcceptAsync().Within())!;
        first.Abort();
        stream.Abort(new ConnectionAbortedException("enough"));
        await stream.DisposeAsync().AsTask().Within();
        ((IDisposable)stream).Dispose();
        await peer.SendAsync("more".Ascii());
        Assert.NotSame(stream, await connection.AcceptAsync().Within());
    }

    [Fact]
    public async Task The_pipes_of_a_stream_can_be_replaced()
    {
        (_, ConnectionContext stream, _) = await StreamsAsync([1]);
        IDuplexPipe own = stream.Transport;
        stream.Transport = new Replacement();
        Assert.IsType<Replacement>(stream.Features.Get<IConnectionTransportFeature>()!.Transport);
        stream.Transport = own;
    }

    private static async Task<ConnectionContext> ExchangeAsync(Http3TestConnection peer, MultiplexedConnectionContext connection)
    {
        Http3TestStream sent = await peer.SendAsync("question".Ascii());
        ConnectionContext stream = (await connection.AcceptAsync().Within())!;
        ReadResult read = await stream.Transport.Input.ReadAtLeastAsync(100).Within();
        stream.Transport.Input.AdvanceTo(read.Buffer.End);
        await stream.Transport.Output.WriteAsync("answer".Ascii()).Within();
        await stream.Transport.Input.CompleteAsync();
        await stream.Transport.Output.CompleteAsync();
        Task disposal = stream.DisposeAsync().AsTask();
        Assert.Equal("answer".Ascii(), await sent.ReadToEndAsync());
        await disposal.Within();
        return stream;
    }

    private static async Task<ReadResult> ReadOnAsync(ConnectionContext stream)
    {
        ReadResult read = await stream.Transport.Input.ReadAsync().Within();
        stream.Transport.Input.AdvanceTo(read.Buffer.End);
        return await stream.Transport.Input.ReadAsync().Within();
    }

    private static async Task ReadExactlyAsync(Http3TestStream stream, byte[] bytes)
    {
        for (int count = 0; count < bytes.Length;)
        {
            count += await stream.ReadAsync(bytes.AsMemory(count));
        }
    }

    private sealed class Replacement : IDuplexPipe
    {
        public PipeReader Input => throw new NotSupportedException();

        public PipeWriter Output => throw new NotSupportedException();
    }
}
