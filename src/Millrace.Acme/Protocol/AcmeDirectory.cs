namespace Millrace.Acme.Protocol;

/// <summary>Where a server takes which request, and what it offers (RFC 8555, section 7.1.1). Immutable.</summary>
internal sealed record AcmeDirectory
{
    public required Uri NewNonce { get; init; }

    public required Uri NewAccount { get; init; }

    public required Uri NewOrder { get; init; }

    public Uri? RevokeCertificate { get; init; }

    /// <summary>Null where the server has no renewal information (RFC 9773).</summary>
    public Uri? RenewalInfo { get; init; }

    /// <summary>The names that an order may choose from; none where the server has no profiles (draft-ietf-acme-profiles).</summary>
    public required IReadOnlyList<string> Profiles { get; init; }

    public bool ExternalAccountRequired { get; init; }
}
