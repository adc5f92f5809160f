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
        await ReceivePausedAsync();
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
        // The pipe's bound, the engine's, and one iteration's receives.
        Assert.InRange(most, 64 * 1024, 512 * 1024);
        Assert.Contains("ConnectionResume", Logs.Names);
        await sending.Within();
    }

    [Fact]
    public async Task A_flush_waits_for_a_peer_that_does_not_read()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync(receiveBufferBytes: 4096);
        byte[] response = new byte[Large];
        Random.Shared.NextBytes(response);
        ValueTask<FlushResult> flush = connection.Transport.Output.WriteAsync(response);
        await Task.Delay(100);
        Assert.False(flush.IsCompleted);

        Task<byte[]> received = peer.ReceiveToEndAsync();
        await flush.Within();
        await connection.Transport.Output.CompleteAsync();
        Assert.Equal(response, await received);
    }

    [Fact]
    public async Task Pieces_larger_than_a_block_stay_in_place_while_they_are_sent()
    {
        // Larger than the pool's blocks, so that they are not pinned from birth, and small enough for a heap that is compacted.
        const int PieceBytes = 20_000;
        const int Pieces = 100;
        Options.MaxWriteBufferSize = 0;
        (Peer peer, ConnectionContext connection) = await PairAsync(receiveBufferBytes: 4096);
        var holes = new List<byte[]>();
        var expected = new MemoryStream();
        for (int i = 0; i < Pieces; i++)
        {
            holes.Add(new byte[PieceBytes]);
            byte[] piece = new byte[PieceBytes];
            Random.Shared.NextBytes(piece);
            expected.Write(piece);
            piece.CopyTo(connection.Transport.Output.GetMemory(PieceBytes));
            connection.Transport.Output.Advance(PieceBytes);
        }

        await connection.Transport.Output.FlushAsync().Within();
        await peer.ReceiveAsync(1);
        holes.Clear();
        GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: true);
        Task<byte[]> received = peer.ReceiveToEndAsync();
        await connection.Transport.Output.CompleteAsync();
        Assert.Equal(expected.ToArray()[1..], await received);
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
