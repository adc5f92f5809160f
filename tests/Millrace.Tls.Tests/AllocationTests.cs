#if !DEBUG
using System.Net.Security;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>A request in the steady state allocates nothing. Release only: Debug builds record each lent block.</summary>
public class AllocationTests : TlsTest
{
    [Fact]
    public async Task A_request_that_is_decrypted_and_answered_allocates_nothing()
    {
        var rounds = new AllocationRounds(1_500);
        var allocated = new TaskCompletionSource<long>();
        Listener listener = await ServeTlsAsync(async connection =>
        {
            for (int request = 0; request < rounds.Requests; request++)
            {
                rounds.NoteRequest();
                if (await connection.ReadIdleAsync() != ReadOutcome.Data)
                {
                    return;
                }

                connection.Consume(connection.Input.Length);
                connection.Write("0123456789"u8);
                await connection.FlushAsync();
            }

            rounds.NoteRequest();
            allocated.SetResult(rounds.Least);
        });
        SslStream stream = await ConnectTlsAsync(listener);
        byte[] answer = new byte[10];
        for (int i = 0; i < rounds.Requests; i++)
        {
            await stream.WriteAsync(new byte[] { 1 }).AsTask().Within();
            await stream.ReadExactlyAsync(answer).AsTask().Within();
        }

        Assert.Equal(0, await allocated.Task.Within());
    }
}
#endif
