using System.Net;

namespace Millrace.Acme.Protocol;

/// <summary>What a certificate is asked for: a host, <c>*.host</c>, or an IP address (RFC 8738). Immutable.</summary>
/// <param name="Type"><c>dns</c> or <c>ip</c>.</param>
/// <param name="Value">In lower case; international hosts in their ASCII form.</param>
internal readonly record struct AcmeIdentifier(string Type, string Value)
{
    public bool IsWildcard => Value.StartsWith("*.", StringComparison.Ordinal);

    public static AcmeIdentifier Of(string name) =>
        IPAddress.TryParse(name, out IPAddress? address) ? new("ip", address.ToString()) : new("dns", name);

    public override string ToString() => Value;
}
