using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Millrace.Acme.Protocol;

/// <summary>
/// The requests of RFC 8555 and RFC 9773 to one certificate authority. Every method throws <see cref="AcmeException"/> when the server
/// refuses or cannot be reached. Any thread; requests are independent of each other.
/// </summary>
internal interface IAcmeClient : IDisposable
{
    /// <summary>Registers the key, or finds the account it has already. Accepts the terms of service.</summary>
    Task<AcmeAccount> CreateAccountAsync(ECDsa key, string? email, ExternalAccount? external, CancellationToken cancel);

    /// <param name="account">Who asks.</param>
    /// <param name="identifiers">All that the certificate is to cover.</param>
    /// <param name="profile">One of those that the directory names; null for the default.</param>
    /// <param name="replaces">The certificate that this order renews; null for none. Left out where the server has no ARI.</param>
    /// <param name="cancel">Gives up.</param>
    Task<AcmeOrder> CreateOrderAsync(
        AcmeAccount account,
        IReadOnlyList<AcmeIdentifier> identifiers,
        string? profile,
        X509Certificate2? replaces,
        CancellationToken cancel);

    Task<AcmeOrder> GetOrderAsync(AcmeAccount account, Uri order, CancellationToken cancel);

    Task<AcmeAuthorization> GetAuthorizationAsync(AcmeAccount account, Uri authorization, CancellationToken cancel);

    /// <summary>Says that the challenge can be validated now.</summary>
    Task AcceptChallengeAsync(AcmeAccount account, AcmeChallenge challenge, CancellationToken cancel);

    /// <summary>Gives up an authorization, so that no later order finds it half done.</summary>
    Task DeactivateAuthorizationAsync(AcmeAccount account, Uri authorization, CancellationToken cancel);

    /// <param name="account">Who asks.</param>
    /// <param name="order">One whose status is ready.</param>
    /// <param name="request">The signing request (PKCS #10) in DER.</param>
    /// <param name="cancel">Gives up.</param>
    Task<AcmeOrder> FinalizeAsync(AcmeAccount account, AcmeOrder order, byte[] request, CancellationToken cancel);

    /// <summary>The chains of an order that is valid, in PEM, the leaf first: the default, then the alternates.</summary>
    Task<IReadOnlyList<string>> DownloadAsync(AcmeAccount account, AcmeOrder order, CancellationToken cancel);

    Task RevokeAsync(AcmeAccount account, X509Certificate2 certificate, CancellationToken cancel);

    /// <summary>When the authority wants the certificate renewed; null if it does not say.</summary>
    Task<RenewalInfo?> GetRenewalInfoAsync(X509Certificate2 certificate, CancellationToken cancel);
}
