namespace Millrace.AspNetCore;

/// <summary>
/// A feature of connections whose TLS Millrace terminates, beside ASP.NET Core's <c>ITlsHandshakeFeature</c>, which has no place for it.
/// </summary>
public interface ITlsKeyExchangeFeature
{
    /// <summary>
    /// The key exchange group by its name in IANA's registry: <c>X25519MLKEM768</c>, <c>x25519</c>, <c>secp256r1</c> or <c>secp384r1</c>.
    /// Null if the library does not know that of a resumed session. Any thread.
    /// </summary>
    string? Group { get; }
}
