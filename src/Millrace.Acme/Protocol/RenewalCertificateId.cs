using System.Buffers.Text;
using System.Formats.Asn1;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Millrace.Acme.Protocol;

/// <summary>How renewal information names a certificate (RFC 9773, section 4.1). Stateless.</summary>
internal static class RenewalCertificateId
{
    private static readonly Asn1Tag Version = new(TagClass.ContextSpecific, 0, isConstructed: true);

    /// <summary>Null for a certificate that does not name its issuer's key.</summary>
    public static string? Of(X509Certificate2 certificate)
    {
        try
        {
            return certificate.Extensions.OfType<X509AuthorityKeyIdentifierExtension>().FirstOrDefault()?.KeyIdentifier is { } issuer
                ? $"{Base64Url.EncodeToString(issuer.Span)}.{Base64Url.EncodeToString(SerialNumber(certificate).Span)}"
                : null;
        }
        catch (CryptographicException)
        {
            // The extension is not in the form that its standard gives it.
            return null;
        }
    }

    /// <summary>As in the certificate, with the zero byte that keeps a number positive.</summary>
    private static ReadOnlyMemory<byte> SerialNumber(X509Certificate2 certificate)
    {
        AsnReader body = new AsnReader(certificate.RawDataMemory, AsnEncodingRules.BER).ReadSequence().ReadSequence();
        if (body.PeekTag().HasSameClassAndValue(Version))
        {
            body.ReadEncodedValue();
        }

        return body.ReadIntegerBytes();
    }
}
