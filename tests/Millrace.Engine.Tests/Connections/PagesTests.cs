using System.Net.Sockets;
using Millrace.Engine.Tests.Filters;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Connections;

/// <summary>Pages of files as part of the output, over real sockets.</summary>
public class PagesTests : EngineTest
{
    private const int Bytes = 3_000_001;

    [Fact]
    public async Task They_keep_their_place_among_what_is_copied()
    {
        using var pages = new MappedPages(9, Bytes);
        Listener listener = await ServeAsync(async connection =>
        {
            for (int i = 0; i < 30; i++)
            {
                connection.Write("head|"u8);
                pages.WriteTo(connection, 12_345 * i, 150_000 + i);
                pages.WriteTo(connection, i, 700);
            }

            connection.Write("end"u8);
            Assert.Equal(FlushOutcome.Sent, await connection.FlushAsync());
        });
        Client client = await ConnectAsync(listener);
        for (int i = 0; i < 30; i++)
        {
            Assert.Equal("head|", await client.ReceiveTextAsync(5));
            Pattern.Check(9, await client.ReceiveAsync(150_000 + i), 12_345 * i);
            Pattern.Check(9, await client.ReceiveAsync(700), i);
        }

        Assert.Equal("end", await client.ReceiveTextAsync(3));
        Assert.Empty(await client.ReceiveToEndAsync());
    }

    /// <summary>The socket alone holds the pages: the file is closed, and nothing is mapped there any more.</summary>
    [Fact]
    public async Task What_a_socket_has_taken_outlives_the_file()
    {
        Listener listener = await ServeAsync(async connection =>
        {
            using (var pages = new MappedPages(9, 400_000))
            {
                pages.WriteTo(connection, 0, 400_000);
                Assert.Equal(FlushOutcome.Sent, await connection.FlushAsync());
            }

            // What is mapped next may well be given the same memory.
            using var others = new MappedPages(1, 400_000);
            await connection.ReadAsync();
        });
        Client client = await ConnectAsync(listener);
        await Task.Delay(50);
        Pattern.Check(9, await client.ReceiveAsync(400_000));
        client.EndSending();
        Assert.Empty(await client.ReceiveToEndAsync());
    }

    [Fact]
    public async Task A_slow_reader_gets_all_and_another_is_served_meanwhile()
    {
        const int Rounds = 8;
        using var pages = new MappedPages(9, Bytes);
        Listener listener = await ServeAsync(async connection =>
        {
            while (await connection.ReadAsync() == ReadOutcome.Data)
            {
                connection.Consume(1);
                for (int i = 0; i < Rounds; i++)
                {
                    pages.WriteTo(connection, 0, Bytes);
                }

                Assert.Equal(FlushOutcome.Sent, await connection.FlushAsync());
            }
        });
        Client slow = Keep(await Client.ConnectAsync(listener.EndPoint, receiveBufferBytes: 16 * 1024));
        await slow.SendAsync("x");
        Pattern.Check(9, await slow.ReceiveAsync(100));
        Client quick = await ConnectAsync(listener);
        await quick.SendAsync("x");
        for (int i = 0; i < Rounds; i++)
        {
            Pattern.Check(9, await quick.ReceiveAsync(Bytes));
        }

        Pattern.Check(9, await slow.ReceiveAsync(Bytes - 100), 100);
        for (int i = 1; i < Rounds; i++)
        {
            Pattern.Check(9, await slow.ReceiveAsync(Bytes));
        }
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_peer_that_leaves_ends_the_flush(bool resets)
    {
        using var pages = new MappedPages(9, Bytes);
        var outcome = new TaskCompletionSource<FlushOutcome>();
        Listener listener = await ServeAsync(async connection =>
        {
            for (int i = 0; i < 20; i++)
            {
                pages.WriteTo(connection, 0, Bytes);
            }

            outcome.SetResult(await connection.FlushAsync());
        });
        Client client = await ConnectAsync(listener);
        Pattern.Check(9, await client.ReceiveAsync(100_000));
        client.Socket.LingerState = new LingerOption(resets, 0);
        client.Dispose();
        Assert.Equal(FlushOutcome.Closed, await outcome.Task.Within());
    }

    [Fact]
    public async Task An_abort_ends_a_wait_for_room()
    {
        using var pages = new MappedPages(9, Bytes);
        var outcome = new TaskCompletionSource<FlushOutcome>();
        Listener listener = await ServeAsync(async connection =>
        {
            for (int i = 0; i < 20; i++)
            {
                pages.WriteTo(connection, 0, Bytes);
            }

            ValueTask<FlushOutcome> flush = connection.FlushAsync();
            await connection.ReadAsync();
            connection.Abort();
            outcome.SetResult(await flush);
        });
        Client client = await ConnectAsync(listener);
        Pattern.Check(9, await client.ReceiveAsync(100_000));
        await Task.Delay(50);
        await client.SendAsync("x");
        Assert.Equal(FlushOutcome.Closed, await outcome.Task.Within());
        await Assert.ThrowsAsync<SocketException>(client.ReceiveToEndAsync);
    }

    [Fact]
    public async Task A_filter_rewrites_their_bytes()
    {
        using var pages = new MappedPages(9, Bytes);
        Listener listener = await ServeAsync(
            async connection =>
            {
                pages.WriteTo(connection, 5, 500_000);
                await connection.FlushAsync();
            },
            filters: static _ => [new XorFilter()]);
        Client client = await ConnectAsync(listener);
        byte[] got = await client.ReceiveAsync(500_000);
        Pattern.Check(9, Array.ConvertAll(got, static one => (byte)(one ^ XorFilter.Mask)), 5);
    }

    [Fact]
    public async Task A_unix_socket_is_sent_copies()
    {
        using var folder = new TemporaryFolder();
        using var pages = new MappedPages(9, Bytes);
        Listener listener = await ServeAsync(
            async connection =>
            {
                pages.WriteTo(connection, 1, Bytes - 1);
                await connection.FlushAsync();
            },
            endPoint: new UnixDomainSocketEndPoint(folder.File("socket")));
        Client client = await ConnectAsync(listener);
        Pattern.Check(9, await client.ReceiveAsync(Bytes - 1), 1);
        Assert.Empty(await client.ReceiveToEndAsync());
    }
}
