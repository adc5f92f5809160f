using Millrace.Acme.Protocol;

namespace Millrace.Acme.Renewal;

/// <summary>The requests of all loops to the authority, one at a time. Any thread.</summary>
internal sealed class AcmeRequests(IAcmeClient client) : IDisposable
{
    private readonly SemaphoreSlim _turn = new(1);

    public async Task<T> RunAsync<T>(Func<IAcmeClient, Task<T>> request, CancellationToken cancel)
    {
        await _turn.WaitAsync(cancel);
        try
        {
            return await request(client);
        }
        finally
        {
            _turn.Release();
        }
    }

    public Task RunAsync(Func<IAcmeClient, Task> request, CancellationToken cancel) => RunAsync(
        async client =>
        {
            await request(client);
            return true;
        },
        cancel);

    public void Dispose()
    {
        _turn.Dispose();
        client.Dispose();
    }
}
