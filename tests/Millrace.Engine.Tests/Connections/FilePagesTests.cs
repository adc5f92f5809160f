using System.Net.Sockets;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Connections;

/// <summary>Files whose own pages are sent, over real sockets and from a real disk.</summary>
public sealed class FilePagesTests : EngineTest, IDisposable
{
    private const int Bytes = 6_000_001;

    private readonly TemporaryFolder _folder = new();
    private readonly string _path;
    private readonly FileStream _file;

    public FilePagesTests()
    {
        _path = _folder.File("file", Pattern.Make(9, Bytes));
        _file = new FileStream(_path, FileMode.Open, FileAccess.ReadWrite, FileShare.ReadWrite);
    }

    private int Descriptor => (int)_file.SafeFileHandle.DangerousGetHandle();

    public void Dispose()
    {
        _file.Dispose();
        _folder.Dispose();
    }

    [Fact]
    public async Task They_keep_their_place_among_what_is_written()
    {
        Listener listener = await ServeAsync(async connection =>
        {
            for (int i = 0; i < 5; i++)
            {
                connection.Write("head|"u8);
                Assert.True(connection.FilePages.ShouldSendFile(Descriptor, i, Bytes - i));
                Assert.Equal(Bytes - i, await connection.FilePages.SendFileAsync(Descriptor, i, Bytes - i));
                Assert.Equal((i + 1) * 5 + SentBy(i), connection.WrittenBytes);
                Assert.Equal(connection.WrittenBytes, connection.TransferredBytes);
            }

            connection.Write("end"u8);
            await connection.FlushAsync();
        });
        Client client = await ConnectAsync(listener);
        for (int i = 0; i < 5; i++)
        {
            Assert.Equal("head|", await client.ReceiveTextAsync(5));
            Pattern.Check(9, await client.ReceiveAsync(Bytes - i), i);
        }

        Assert.Equal("end", await client.ReceiveTextAsync(3));
        Assert.Empty(await client.ReceiveToEndAsync());

        static long SentBy(int last) => Enumerable.Range(0, last + 1).Sum(static i => (long)Bytes - i);
    }

    /// <summary>
    /// The first look at pages that are not there has the kernel bring them, as much as it reads ahead: so what is at hand a moment later
    /// is chance, and what is sent is not.
    /// </summary>
    [Fact]
    public async Task What_the_disk_has_to_bring_is_read_or_sent_when_it_is_there()
    {
        const int AttemptsMax = 20;
        bool takes = true;
        Listener listener = await ServeAsync(async connection =>
        {
            takes = connection.FilePages.ShouldSendFile(Descriptor, 0, Bytes);
            for (long offset = 0; offset < Bytes;)
            {
                offset += await connection.FilePages.SendFileAsync(Descriptor, offset, Bytes - offset);
                offset += offset < Bytes ? await connection.ReadFileAsync(Descriptor, offset, 100_000) : 0;
            }

            await connection.FlushAsync();
        });
        for (int i = 0; i < AttemptsMax && takes; i++)
        {
            // Only clean pages are forgotten, and none that the kernel is busy with.
            _file.Flush(flushToDisk: true);
            Assert.Equal(0, PageCache.Drop(_path));
            Client client = await ConnectAsync(listener);
            byte[] all = await client.ReceiveToEndAsync();
            Assert.Equal(Bytes, all.Length);
            Pattern.Check(9, all);
        }

        Assert.False(takes, "It was not forgotten.");
    }

    [Fact]
    public async Task Of_a_file_that_was_cut_there_is_what_there_is()
    {
        Listener listener = await ServeAsync(async connection =>
        {
            _file.SetLength(2_000_000);
            Assert.Equal(1_999_000, await connection.FilePages.SendFileAsync(Descriptor, 1_000, Bytes));
            Assert.Equal(0, await connection.FilePages.SendFileAsync(Descriptor, 2_000_000, 500_000));
            Assert.False(connection.FilePages.ShouldSendFile(Descriptor, 2_000_000, 4_000_000));
        });
        Client client = await ConnectAsync(listener);
        byte[] all = await client.ReceiveToEndAsync();
        Assert.Equal(1_999_000, all.Length);
        Pattern.Check(9, all, 1_000);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_peer_that_leaves_ends_it(bool resets)
    {
        var sent = new TaskCompletionSource<long>();
        Listener listener = await ServeAsync(async connection =>
        {
            long last;
            do
            {
                last = await connection.FilePages.SendFileAsync(Descriptor, 0, Bytes);
            }
            while (last == Bytes);
            sent.SetResult(last);
        });
        Client client = await ConnectAsync(listener);
        Pattern.Check(9, await client.ReceiveAsync(100_000));
        client.Socket.LingerState = new LingerOption(resets, 0);
        client.Dispose();
        Assert.Equal(-1, await sent.Task.Within());
    }

    [Fact]
    public async Task A_peer_that_does_not_read_is_not_done_with_them()
    {
        var waiting = new TaskCompletionSource();
        var outcome = new TaskCompletionSource<bool>();
        Listener listener = await ServeAsync(async connection =>
        {
            Assert.Equal(200_000, await connection.FilePages.SendFileAsync(Descriptor, 0, 200_000));
            ValueTask<bool> acknowledged = connection.FilePages.AcknowledgedAsync(connection.WrittenBytes);
            waiting.SetResult();
            Assert.False(acknowledged.IsCompleted);
            outcome.SetResult(await acknowledged);
        });
        Client client = await ConnectAsync(listener);
        await waiting.Task.Within();

        // All that there is, and no queue's worth after it.
        Pattern.Check(9, await client.ReceiveAsync(200_000));
        await Task.Delay(100);
        Assert.False(outcome.Task.IsCompleted);
        client.Socket.LingerState = new LingerOption(true, 0);
        client.Dispose();
        Assert.False(await outcome.Task.Within());
    }

    [Fact]
    public async Task Where_a_filter_wants_to_see_the_bytes_there_are_no_pages()
    {
        var said = new TaskCompletionSource<(bool, long)>();
        Listener listener = await ServeAsync(
            connection =>
            {
                said.SetResult((connection.FilePages.ShouldSendFile(Descriptor, 0, Bytes), connection.FilePages.CopiedBytesAfter));
                return Task.CompletedTask;
            },
            filters: static _ => [new Filters.XorFilter()]);
        await ConnectAsync(listener);
        Assert.Equal((false, long.MaxValue), await said.Task.Within());
    }
}
