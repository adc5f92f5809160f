#if !DEBUG
using System.Runtime.CompilerServices;
using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Errands;

/// <summary>Waits and reads in the steady state allocate nothing. Release only: tasks of Debug builds are classes.</summary>
public class ErrandAllocationTests : EngineTest
{
    private const int WarmUp = 200;
    private const int Count = 500;

    [Fact]
    public async Task A_delay_allocates_nothing()
    {
        await StartAsync();
        using var cancellation = new CancellationTokenSource();
        await MeasureAsync(() => Reactor.Delay(TimeSpan.FromMilliseconds(1), cancellation.Token));
    }

    [Fact]
    public async Task A_read_allocates_nothing()
    {
        using var folder = new TemporaryFolder();
        using SafeFileHandle file = File.OpenHandle(folder.File("f", new byte[10]));
        byte[] memory = new byte[10];
        await StartAsync();
        await MeasureAsync(ReadAsync);

        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
        async ValueTask ReadAsync() => await Reactor.ReadFileAsync(file, memory, 0);
    }

    private async Task MeasureAsync(Func<ValueTask> round)
    {
        long allocated = 0;
        await Reactor.RunAsync(async () =>
        {
            long before = 0;
            for (int i = 0; i < WarmUp + Count; i++)
            {
                if (i == WarmUp)
                {
                    before = GC.GetAllocatedBytesForCurrentThread();
                }

                await round();
            }

            allocated = GC.GetAllocatedBytesForCurrentThread() - before;
        });
        Assert.Equal(0, allocated);
    }
}
#endif
