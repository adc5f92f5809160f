using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Operations;

public class FileReadOperationTests : EngineTest
{
    private const int FileBytes = 1_000_003;

    [Fact]
    public async Task A_read_brings_the_bytes_of_its_place_and_nothing_beside_them()
    {
        using var folder = new TemporaryFolder();
        using SafeFileHandle file = File.OpenHandle(folder.File("f", Pattern.Make(1, FileBytes)));
        await StartAsync();
        foreach (int offset in (int[])[0, 1, 65_537, FileBytes - 10, FileBytes, FileBytes + 5])
        {
            byte[] memory = new byte[4_096];
            int read = await ReadAsync(file, memory.AsMemory(100, 3_000), offset);
            Assert.Equal(Math.Clamp(FileBytes - offset, 0, 3_000), read);
            Pattern.Check(1, memory.AsSpan(100, read), offset);
            Assert.All(memory[..100], static left => Assert.Equal(0, left));
            Assert.All(memory[(100 + read)..], static left => Assert.Equal(0, left));
        }
    }

    [Fact]
    public async Task A_file_that_is_not_in_the_page_cache_is_read_too()
    {
        using var folder = new TemporaryFolder();
        string path = folder.File("f", Pattern.Make(1, FileBytes));
        using (SafeFileHandle written = File.OpenHandle(path, access: FileAccess.ReadWrite))
        {
            RandomAccess.FlushToDisk(written);
        }

        Assert.Equal(0, PageCache.Drop(path));
        using SafeFileHandle file = File.OpenHandle(path);
        await StartAsync();
        byte[] memory = new byte[FileBytes];
        int read = 0;
        for (int count; (count = await ReadAsync(file, memory.AsMemory(read), read)) > 0; read += count)
        {
        }

        Assert.Equal(FileBytes, read);
        Pattern.Check(1, memory);
    }

    [Fact]
    public async Task Many_reads_at_once_each_get_their_own()
    {
        const int Count = 200;
        using var folder = new TemporaryFolder();
        using SafeFileHandle file = File.OpenHandle(folder.File("f", Pattern.Make(1, FileBytes)));
        await StartAsync();
        byte[][] memories = [.. Enumerable.Range(0, Count).Select(static _ => new byte[1_000])];
        await Reactor.RunAsync(() => Task.WhenAll(
            memories.Select((memory, i) => Reactor.ReadFileAsync(file, memory, i * 5_000L).AsTask())));
        for (int i = 0; i < Count; i++)
        {
            Pattern.Check(1, memories[i], i * 5_000L);
        }
    }

    [Fact]
    public async Task What_cannot_be_read_says_why()
    {
        using var folder = new TemporaryFolder();
        await StartAsync();
        using var directory = new SafeFileHandle(PageCache.OpenDirectory(folder.Path), ownsHandle: true);
        IOException error = await Assert.ThrowsAsync<IOException>(() => ReadAsync(directory, new byte[10], 0));
        Assert.Equal(Errno.EISDIR, error.HResult);
        Assert.Contains("directory", error.Message, StringComparison.Ordinal);

        using SafeFileHandle closed = File.OpenHandle(folder.File("f", [1]));
        closed.Dispose();
        await Assert.ThrowsAsync<ObjectDisposedException>(() => ReadAsync(closed, new byte[10], 0));
        Assert.Equal(0, await Reactor.AskAsync(() => Reactor.Operations.Count));
    }

    [Fact]
    public async Task A_file_that_is_closed_meanwhile_is_read_all_the_same()
    {
        using var folder = new TemporaryFolder();
        SafeFileHandle file = File.OpenHandle(folder.File("f", Pattern.Make(1, 1_000)));
        await StartAsync();
        byte[] memory = new byte[1_000];
        await Reactor.RunAsync(async () =>
        {
            ValueTask<int> read = Reactor.ReadFileAsync(file, memory, 0);
            file.Dispose();
            Assert.Equal(1_000, await read);
        });
        Pattern.Check(1, memory);
    }

    [Fact]
    public async Task A_cancelled_read_keeps_its_memory_until_the_kernel_has_let_go()
    {
        await using Script script = await Script.StartAsync();
        using var folder = new TemporaryFolder();
        using SafeFileHandle file = File.OpenHandle(folder.File("f", [1]));
        using var cancellation = new CancellationTokenSource();
        Reactor reactor = script.Reactor;
        Task read = reactor.RunAsync(() => reactor.ReadFileAsync(file, new byte[10], 0, cancellation.Token).AsTask());
        Submission asked = await script.Kernel.ExpectAsync("read");
        await cancellation.CancelAsync();
        Assert.Equal(asked.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        await reactor.AskAsync(() => 0);
        Assert.False(read.IsCompleted);
        script.Kernel.Complete(asked, -Errno.ECANCELED);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => read);
    }

    [Fact]
    public async Task A_read_that_a_signal_cut_short_is_repeated_but_not_for_ever()
    {
        await using Script script = await Script.StartAsync();
        using var folder = new TemporaryFolder();
        using SafeFileHandle file = File.OpenHandle(folder.File("f", [1]));
        Reactor reactor = script.Reactor;
        Task read = reactor.RunAsync(() => reactor.ReadFileAsync(file, new byte[10], 0).AsTask());
        int attempts = 0;
        while (!read.IsCompleted && attempts < 100)
        {
            Submission asked = await script.Kernel.ExpectAsync("read");
            attempts++;
            script.Kernel.Complete(asked, attempts < 3 ? -Errno.EINTR : -Errno.EAGAIN);
            await reactor.AskAsync(() => 0);
            await Task.WhenAny(read, Task.Delay(script.Kernel.IsQuiet ? 1_000 : 0));
        }

        Assert.Equal(16, attempts);
        await Assert.ThrowsAsync<IOException>(() => read);
    }

    private async Task<int> ReadAsync(SafeFileHandle file, Memory<byte> memory, long offset)
    {
        int read = 0;
        await Reactor.RunAsync(async () => read = await Reactor.ReadFileAsync(file, memory, offset));
        return read;
    }
}
