using Microsoft.Win32.SafeHandles;
using Millrace.AspNetCore.StaticFiles.Bodies;
using Millrace.AspNetCore.Tests.StaticFiles.Kit;
using Millrace.Interop;

namespace Millrace.AspNetCore.Tests.StaticFiles;

/// <summary>Reads of a file's block, from a thread of the pool and from one that is not: there a disk must not be waited for.</summary>
public sealed class FileBlockReaderTests : IDisposable
{
    private readonly SiteFolder _folder = new();

    public static TheoryData<bool> Threads => [true, false];

    public void Dispose() => _folder.Dispose();

    [Theory]
    [MemberData(nameof(Threads))]
    public async Task A_block_is_read_from_its_position_to_the_end(bool onPool)
    {
        byte[] content = _folder.Add("file.bin", 300_000);
        using SafeFileHandle file = File.OpenHandle(Path.Combine(_folder.Root, "file.bin"));
        byte[] block = new byte[200_000];
        int read = await RunAsync(onPool, () => FileBlockReader.FillAsync(Descriptor(file), block, 150_000));
        Assert.Equal(150_000, read);
        Assert.Equal(content[150_000..], block[..read]);
        Assert.Equal(0, await RunAsync(onPool, () => FileBlockReader.ReadAsync(Descriptor(file), block, 300_000)));
    }

    [Theory]
    [MemberData(nameof(Threads))]
    public async Task An_error_is_its_number(bool onPool)
    {
        Assert.Equal(-Errno.EBADF, await RunAsync(onPool, static () => FileBlockReader.ReadAsync(-1, new byte[10], 0)));
        Assert.Equal(-Errno.EBADF, await RunAsync(onPool, static () => FileBlockReader.FillAsync(-1, new byte[10], 0)));
    }

    private static int Descriptor(SafeFileHandle file) => (int)file.DangerousGetHandle();

    /// <summary>Begins a read on a thread of the kind that is asked for.</summary>
    private static Task<int> RunAsync(bool onPool, Func<ValueTask<int>> read)
    {
        if (onPool)
        {
            return Task.Run(() => read().AsTask());
        }

        var begun = new TaskCompletionSource<Task<int>>(TaskCreationOptions.RunContinuationsAsynchronously);
        new Thread(() => begun.SetResult(read().AsTask())) { IsBackground = true }.Start();
        return begun.Task.Unwrap();
    }
}
