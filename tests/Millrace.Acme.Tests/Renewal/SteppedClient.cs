using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Millrace.Acme.Protocol;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>A client that announces each request before it is sent and after its answer, so that a test can end the process there.</summary>
internal sealed class SteppedClient(IAcmeClient client, Action<string> step) : IAcmeClient
{
    public Task<AcmeAccount> CreateAccountAsync(ECDsa key, string? email, ExternalAccount? external, CancellationToken cancel) =>
        RunAsync(() => client.CreateAccountAsync(key, email, external, cancel));

    public Task<AcmeOrder> CreateOrderAsync(
        AcmeAccount account, IReadOnlyList<AcmeIdentifier> identifiers, string? profile, X509Certificate2? replaces, CancellationToken cancel) =>
        RunAsync(() => client.CreateOrderAsync(account, identifiers, profile, replaces, cancel));

    public Task<AcmeOrder> GetOrderAsync(AcmeAccount account, Uri order, CancellationToken cancel) =>
        RunAsync(() => client.GetOrderAsync(account, order, cancel));

    public Task<AcmeAuthorization> GetAuthorizationAsync(AcmeAccount account, Uri authorization, CancellationToken cancel) =>
        RunAsync(() => client.GetAuthorizationAsync(account, authorization, cancel));

    public Task AcceptChallengeAsync(AcmeAccount account, AcmeChallenge challenge, CancellationToken cancel) =>
        RunAsync(() => Result(client.AcceptChallengeAsync(account, challenge, cancel)));

    public Task DeactivateAuthorizationAsync(AcmeAccount account, Uri authorization, CancellationToken cancel) =>
        RunAsync(() => Result(client.DeactivateAuthorizationAsync(account, authorization, cancel)));

    public Task<AcmeOrder> FinalizeAsync(AcmeAccount account, AcmeOrder order, byte[] request, CancellationToken cancel) =>
        RunAsync(() => client.FinalizeAsync(account, order, request, cancel));

    public Task<IReadOnlyList<string>> DownloadAsync(AcmeAccount account, AcmeOrder order, CancellationToken cancel) =>
        RunAsync(() => client.DownloadAsync(account, order, cancel));

    public Task RevokeAsync(AcmeAccount account, X509Certificate2 certificate, CancellationToken cancel) =>
        RunAsync(() => Result(client.RevokeAsync(account, certificate, cancel)));

    public Task<RenewalInfo?> GetRenewalInfoAsync(X509Certificate2 certificate, CancellationToken cancel) =>
        RunAsync(() => client.GetRenewalInfoAsync(certificate, cancel));

    public void Dispose() => client.Dispose();

    private static async Task<bool> Result(Task task)
    {
        await task;
        return true;
    }

    private async Task<T> RunAsync<T>(Func<Task<T>> request, [CallerMemberName] string name = "")
    {
        step($"before {name}");
        T result = await request();
        step($"after {name}");
        return result;
    }
}
