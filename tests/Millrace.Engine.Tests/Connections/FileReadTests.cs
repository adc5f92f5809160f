using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Connections;

/// <summary>Files read on the ring, straight into the output.</summary>
public class FileReadTests : EngineTest
{
    [Theory]
    [InlineData("")]
    [InlineData("/dev/shm")]
    public async Task What_is_read_lies_amid_what_is_written(string parent)
    {
        using var folder = new TemporaryFolder(parent.Length == 0 ? null : parent);
        byte[] content = Pattern.Make(2, 300_000);
        using SafeFileHandle file = File.OpenHandle(folder.File("f", content));
        int[] counts = new int[4];
        Listener listener = await ServeAsync(async connection =>
        {
            connection.Write("head|"u8);
            counts[0] = await connection.ReadFileAsync(file, 100, 50);
            connection.Write("|middle|"u8);
            counts[1] = await connection.ReadFileAsync(file, 0, 300_000);
            counts[2] = await connection.ReadFileAsync(file, 300_000, 10);
            counts[3] = await connection.ReadFileAsync(file, 299_990, 1_000);
            connection.Write("|tail"u8);
        });
        Client client = await ConnectAsync(listener);
        Assert.Equal("head|", await client.ReceiveTextAsync(5));
        Pattern.Check(2, await client.ReceiveAsync(50), 100);
        Assert.Equal("|middle|", await client.ReceiveTextAsync(8));
        Pattern.Check(2, await client.ReceiveAsync(300_000));
        Pattern.Check(2, await client.ReceiveAsync(10), 299_990);
        Assert.Equal("|tail", await client.ReceiveTextAsync(5));
        Assert.Empty(await client.ReceiveToEndAsync());
        Assert.Equal([50, 300_000, 0, 10], counts);
    }

    [Fact]
    public async Task A_file_that_is_not_cached_is_read_whole()
    {
        using var folder = new TemporaryFolder();
        const int Bytes = 8 * 1024 * 1024;
        string path = folder.File("cold", Pattern.Make(4, Bytes));
        using (var written = new FileStream(path, FileMode.Open))
        {
            written.Flush(flushToDisk: true);
        }

        Assert.Equal(0, PageCache.Drop(path));
        using SafeFileHandle file = File.OpenHandle(path);
        Listener listener = await ServeAsync(async connection =>
        {
            for (long at = 0; at < Bytes;)
            {
                at += await connection.ReadFileAsync(file, at, 200_000);
                await connection.FlushAsync(400_000);
            }
        });
        Client client = await ConnectAsync(listener);
        byte[] all = await client.ReceiveToEndAsync();
        Assert.Equal(Bytes, all.Length);
        Pattern.Check(4, all);
    }

    [Theory]
    [InlineData(Errno.EBADF)]
    [InlineData(Errno.EISDIR)]
    public async Task A_read_that_fails_says_why_and_the_output_goes_on(int errno)
    {
        using var folder = new TemporaryFolder();
        int fd = errno == Errno.EBADF ? 1_000_000_000 : PageCache.OpenDirectory(folder.Path);
        Listener listener = await ServeAsync(async connection =>
        {
            connection.Write("before|"u8);
            IOException error = await Assert.ThrowsAsync<IOException>(async () => await connection.ReadFileAsync(fd, 0, 100));
            Assert.Equal(errno, error.HResult);
            Assert.Same(connection.Reactor, Reactor.Current);
            connection.Write("after"u8);
        });
        Client client = await ConnectAsync(listener);
        Assert.Equal("before|after", await client.ReceiveTextAsync(12));
        Assert.Empty(await client.ReceiveToEndAsync());
        Assert.Equal(0, Log.Count(300));
        if (errno == Errno.EISDIR)
        {
            Assert.Equal(0, Interop.Files.FileCalls.Close(fd));
        }
    }

    [Fact]
    public async Task The_output_is_the_reads_while_one_is_under_way()
    {
        using var folder = new TemporaryFolder();
        using SafeFileHandle file = File.OpenHandle(folder.File("f", new byte[10]));
        Listener listener = await ServeAsync(async connection =>
        {
            ValueTask<int> read = connection.ReadFileAsync(file, 0, 10);
            Assert.Throws<InvalidOperationException>(() => connection.Write("x"u8));
            Assert.Throws<InvalidOperationException>(() => connection.GetSpan());
            Assert.Throws<InvalidOperationException>(() => connection.ReadFileAsync((int)file.DangerousGetHandle(), 0, 1).AsTask().Wait());
            connection.Flush();
            Assert.Equal(10, await read);
        });
        Client client = await ConnectAsync(listener);
        Assert.Equal(new byte[10], await client.ReceiveToEndAsync());
        Assert.Equal(0, Log.Count(300));
    }
}
