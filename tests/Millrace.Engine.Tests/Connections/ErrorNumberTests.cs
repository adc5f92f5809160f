using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Connections;

/// <summary>An IOException's HResult is the kernel's error number, positive, as the runtime's own exceptions have it.</summary>
public class ErrorNumberTests
{
    [Fact]
    public async Task A_read_for_a_connection_that_is_broken_names_the_number_as_any_other_read_does()
    {
        await using Script script = await Script.StartAsync();
        var numbers = new TaskCompletionSource<int[]>();
        await script.ConnectAsync(5, async connection =>
        {
            int failed = await NumberOf(connection.ReadFileAsync(9, 0, 100));
            connection.Abort();
            numbers.SetResult([failed, await NumberOf(connection.ReadFileAsync(9, 0, 100))]);
        });
        script.Kernel.Complete(await script.Kernel.ExpectAsync("read"), -Errno.EIO);
        int[] reported = await numbers.Task.Within();
        Assert.Equal([Errno.EIO, Errno.ECANCELED], reported);
    }

    private static async Task<int> NumberOf(ValueTask<int> read) =>
        (await Assert.ThrowsAsync<IOException>(() => read.AsTask())).HResult;
}
