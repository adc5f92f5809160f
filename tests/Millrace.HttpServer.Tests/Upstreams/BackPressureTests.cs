using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.HttpServer.Upstreams;

namespace Millrace.HttpServer.Tests.Upstreams;

/// <summary>A side that is slow slows the other, and memory is bounded.</summary>
public class BackPressureTests : UpstreamFixture
{
    private const int Size = 50_000_000;

    /// <summary>The high-water mark, what had arrived before the receive was cancelled, and blocks that are half full.</summary>
    private const long HeldBytesMax = 512 * 1024;

    [Theory]
    [InlineData("length")]
    [InlineData("chunks")]
    [InlineData("close")]
    public async Task A_slow_client_slows_the_upstream(string framing)
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, set: static session =>
        {
            session.KeepsBody = false;
            session.TakesBytesMax = 0;
        });
        Task sending = SendAsync(wire, framing);
        await session.HeadAsync();
        for (long taken = 0; taken < Size; taken += Size / 20)
        {
            await session.TakeAsync(taken);
            await session.WhenAsync(() => session.BodyBytes >= taken);
            // The upstream would send all of it by then, if it could.
            await Task.Delay(10);
            long held = 0;
            await OnReactorAsync(() => held = Reactor.Pools.LentBytes);
            Assert.InRange(held, 0, HeldBytesMax);
            Assert.False(sending.IsCompleted && taken < Size / 2);
        }

        await session.TakeAsync(long.MaxValue);
        await sending;
        await session.EndedAsync();
        Assert.Equal((UpstreamPhase.Complete, (long)Size), (session.Phase, session.BodyBytes));
    }

    [Theory]
    [Trait("Duration", "Full")]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_slow_upstream_slows_the_client(bool isChunked)
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) =
            await BeginAsync(upstream, isChunked ? TestRequest.PostChunked() : TestRequest.Post(Size));
        Task writing = session.WriteAsync(new byte[Size], ends: true);
        await UntilAsync(() => session.Exchange.BodyRoom == 0);
        await Task.Delay(50);
        long held = 0;
        await OnReactorAsync(() => held = Reactor.Pools.LentBytes);
        Assert.InRange(held, 0, HeldBytesMax);
        Assert.False(writing.IsCompleted);

        long received = 0;
        byte[] buffer = new byte[1024 * 1024];
        while (received < Size)
        {
            received += await wire.Socket.ReceiveAsync(buffer);
        }

        await writing;
        await wire.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        await session.EndedAsync();
        Assert.Equal("ok", session.Body);
    }

    private static async Task SendAsync(UpstreamWire wire, string framing)
    {
        const int Piece = 100_000;
        await wire.SendAsync(framing switch
        {
            "length" => $"HTTP/1.1 200 OK\r\nContent-Length: {Size}\r\n\r\n",
            "chunks" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            _ => "HTTP/1.1 200 OK\r\n\r\n",
        });
        byte[] piece = new byte[Piece];
        for (int sent = 0; sent < Size; sent += Piece)
        {
            if (framing == "chunks")
            {
                await wire.SendAsync($"{Piece:x}\r\n");
            }

            await wire.SendAsync(piece);
            if (framing == "chunks")
            {
                await wire.SendAsync("\r\n");
            }
        }

        if (framing == "chunks")
        {
            await wire.SendAsync("0\r\n\r\n");
        }
        else if (framing == "close")
        {
            wire.FinishSending();
        }
    }
}
