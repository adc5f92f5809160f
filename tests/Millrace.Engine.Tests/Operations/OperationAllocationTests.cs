#if !DEBUG
using System.Runtime.CompilerServices;
using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Operations;

/// <summary>Waits and reads in the steady state allocate nothing. Release only: tasks of Debug builds are classes.</summary>
public class OperationAllocationTests : EngineTest
{
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
        var rounds = new AllocationRounds(200);
        await Reactor.RunAsync(async () =>
        {
            for (int i = 0; i < rounds.Requests; i++)
            {
                rounds.NoteRequest();
                await round();
            }

            rounds.NoteRequest();
        });
        Assert.Equal(0, rounds.Least);
    }
}
#endif
