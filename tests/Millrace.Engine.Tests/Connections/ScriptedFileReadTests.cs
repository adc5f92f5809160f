using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Connections;

/// <summary>What disks answer, one time after the other.</summary>
public class ScriptedFileReadTests
{
    [Theory]
    [InlineData(Errno.EAGAIN)]
    [InlineData(Errno.EINTR)]
    public async Task A_file_that_is_never_ready_is_an_error_in_the_end(int errno)
    {
        await using Script script = await Script.StartAsync();
        var failed = new TaskCompletionSource<IOException>();
        Submission receive = await script.ConnectAsync(5, async connection =>
        {
            failed.SetResult(await Assert.ThrowsAsync<IOException>(() => connection.ReadFileAsync(9, 0, 100).AsTask()));
            connection.Write("sorry"u8);
        });
        int asked = 0;
        Submission next = await script.Kernel.AnyAsync();
        for (; next.Verb == "read" && asked < 1_000; next = await script.Kernel.AnyAsync())
        {
            asked++;
            script.Kernel.Complete(next, -errno);
        }

        Assert.Equal(16, asked);
        Assert.Equal(errno, (await failed.Task.Within()).HResult);
        Assert.Equal(1, script.Reactor.Counters.FileFaults);
        Assert.Equal("sorry"u8, next.Bytes);
        script.Kernel.Complete(next, next.Bytes.Length);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(5);
    }

    [Fact]
    public async Task Each_read_may_be_put_off_again()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(5, static async connection =>
        {
            Assert.Equal(0, await connection.ReadFileAsync(9, 0, 100));
            Assert.Equal(0, await connection.ReadFileAsync(9, 0, 100));
        });
        for (int read = 0; read < 2; read++)
        {
            for (int attempt = 0; attempt < 15; attempt++)
            {
                script.Kernel.Complete(await script.Kernel.ExpectAsync("read"), -Errno.EAGAIN);
            }

            script.Kernel.Complete(await script.Kernel.ExpectAsync("read"), 0);
        }

        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(5);
    }
}
