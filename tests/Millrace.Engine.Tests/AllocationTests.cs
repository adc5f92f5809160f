#if !DEBUG
using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Tests.Kit;
using System.Runtime.InteropServices;

namespace Millrace.Engine.Tests;

/// <summary>A request in the steady state allocates nothing. Release only: Debug builds record each lent block.</summary>
public class AllocationTests : EngineTest
{
    [Fact]
    public Task A_request_that_is_read_and_answered_allocates_nothing() => MeasureAsync(static connection =>
    {
        connection.Write("0123456789"u8);
        return default;
    });

    [Fact]
    public async Task A_file_read_into_the_answer_allocates_nothing()
    {
        using var folder = new TemporaryFolder();
        using SafeFileHandle file = File.OpenHandle(folder.File("f", new byte[10]));
        int fd = (int)file.DangerousGetHandle();
        await MeasureAsync(connection => connection.ReadFileAsync(fd, 0, 10));
    }

    [Fact]
    public async Task An_answer_by_reference_allocates_nothing()
    {
        nint memory = Marshal.AllocHGlobal(10);
        await MeasureAsync(connection =>
        {
            Refer(connection, memory);
            return default;
        });
        Marshal.FreeHGlobal(memory);
    }

    private static unsafe void Refer(Connection connection, nint memory) => connection.WriteReference((byte*)memory, 10);

    private async Task MeasureAsync(Func<Connection, ValueTask<int>> answer)
    {
        var rounds = new AllocationRounds(3_000);
        var allocated = new TaskCompletionSource<long>();
        Listener listener = await ServeAsync(async connection =>
        {
            for (int request = 0; request < rounds.Requests; request++)
            {
                rounds.NoteRequest();
                connection.SetReadDeadline(TimeSpan.FromMinutes(1));
                if (await connection.ReadIdleAsync() != ReadOutcome.Data)
                {
                    return;
                }

                connection.Consume(connection.Input.Length);
                await answer(connection);
                await connection.FlushAsync();
            }

            rounds.NoteRequest();
            allocated.SetResult(rounds.Least);
        });
        Client client = await ConnectAsync(listener);
        byte[] request = [1];
        for (int i = 0; i < rounds.Requests; i++)
        {
            await client.SendAsync(request);
            await client.ReceiveAsync(10);
        }

        Assert.Equal(0, await allocated.Task.Within());
    }
}
#endif
