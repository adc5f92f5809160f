using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Millrace.AspNetCore.Tests.Transport.Kit;

namespace Millrace.AspNetCore.Tests.Transport;

/// <summary>Who is faster waits for who is slower, and nothing is lost.</summary>
public class BackPressureTests : TransportTest
{
    private const int Large = 32 * 1024 * 1024;

    [Fact]
    public async Task What_the_application_does_not_read_stays_with_the_peer()
    {
        Options.MaxReadBufferSize = 64 * 1024;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        byte[] upload = new byte[Large];
        Random.Shared.NextBytes(upload);
        Task sending = peer.SendAsync(upload);
        await Waiting.UntilAsync(() => Logs.Names.Contains("ConnectionPause"), "the receive paused");
        Assert.False(sending.IsCompleted);

        byte[] received = new byte[Large];
        int count = 0;
        int most = 0;
        while (count < Large)
        {
            ReadResult result = await connection.Transport.Input.ReadAsync().Within();
            result.Buffer.CopyTo(received.AsSpan(count));
            count += (int)result.Buffer.Length;
            most = Math.Max(most, (int)result.Buffer.Length);
            connection.Transport.Input.AdvanceTo(result.Buffer.End);
        }

        Assert.Equal(upload, received);
        // The pipe's bound, the engine's, and one turn's receives.
        Assert.InRange(most, 64 * 1024, 512 * 1024);
        Assert.Contains("ConnectionResume", Logs.Names);
        await sending.Within();
    }

    [Fact]
    public async Task A_flush_waits_for_a_peer_that_does_not_read()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync(receiveBufferBytes: 4096);
        byte[] answer = new byte[Large];
        Random.Shared.NextBytes(answer);
        ValueTask<FlushResult> flush = connection.Transport.Output.WriteAsync(answer);
        await Task.Delay(100);
        Assert.False(flush.IsCompleted);

        Task<byte[]> received = peer.ReceiveToEndAsync();
        await flush.Within();
        await connection.Transport.Output.CompleteAsync();
        Assert.Equal(answer, await received);
    }

    [Fact]
    public async Task Pieces_larger_than_a_block_stay_in_place_while_they_are_sent()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync(receiveBufferBytes: 4096);
        byte[] piece = new byte[100_000];
        Random.Shared.NextBytes(piece);
        Task<byte[]> received = peer.ReceiveToEndAsync();
        for (int i = 0; i < 20; i++)
        {
            piece.CopyTo(connection.Transport.Output.GetMemory(piece.Length));
            connection.Transport.Output.Advance(piece.Length);
            ValueTask<FlushResult> flush = connection.Transport.Output.FlushAsync();
            GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: true);
            await flush.Within();
        }

        await connection.Transport.Output.CompleteAsync();
        byte[] all = await received;
        Assert.Equal(20 * piece.Length, all.Length);
        Assert.All(all.Chunk(piece.Length), chunk => Assert.Equal(piece, chunk));
    }

    [Fact]
    public async Task Without_bounds_nobody_waits()
    {
        Options.MaxReadBufferSize = 0;
        Options.MaxWriteBufferSize = null;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        await peer.SendAsync(new byte[Large]);
        Assert.True(connection.Transport.Output.WriteAsync(new byte[Large]).AsTask().IsCompletedSuccessfully);
        Assert.Equal(Large, (await connection.Transport.Input.ReadAtLeastAsync(Large).Within()).Buffer.Length);
        Assert.DoesNotContain("ConnectionPause", Logs.Names);
    }
}
