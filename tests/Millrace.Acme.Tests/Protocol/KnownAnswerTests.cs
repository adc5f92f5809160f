using System.Buffers.Text;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using System.Text.Json.Nodes;
using Millrace.Acme.Protocol;
using Millrace.Acme.Tests.Kit;

namespace Millrace.Acme.Tests.Protocol;

/// <summary>The examples of the standards.</summary>
public sealed class KnownAnswerTests
{
    // RFC 7515, appendix A.3.1.
    private const string X = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
    private const string Y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";
    private const string D = "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI";

    private static readonly Uri NewOrder = new("https://example.com/acme/new-order");

    [Fact]
    public void A_public_key_is_written_as_rfc_7638_hashes_it()
    {
        using ECDsa key = KeyOf(X, Y, D);
        Assert.Equal($$"""{"crv":"P-256","kty":"EC","x":"{{X}}","y":"{{Y}}"}""", Encoding.ASCII.GetString(JsonWebSignature.PublicKey(key)));
    }

    /// <summary>The second is from RFC 9449, section 6.1; the first is the SHA-256 of the text above, by another program.</summary>
    [Theory]
    [InlineData(X, Y, "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U")]
    [InlineData(
        "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs", "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA", "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")]
    public void A_thumbprint_is_that_of_rfc_7638(string x, string y, string thumbprint)
    {
        using ECDsa key = KeyOf(x, y, d: null);
        Assert.Equal(thumbprint, JsonWebSignature.Thumbprint(key));
    }

    [Fact]
    public void A_signature_has_the_form_of_rfc_7515()
    {
        // The example's own signature is taken, so the key and the form are what A.3 means.
        const string Input = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        using ECDsa key = KeyOf(X, Y, D);
        Assert.True(IsSigned(key, Input, "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"));

        JsonNode jws = JsonNode.Parse(JsonWebSignature.Sign(key, account: null, NewOrder, "nonce", "{}"u8))!;
        Assert.True(IsSigned(key, $"{jws["protected"]}.{jws["payload"]}", (string)jws["signature"]!));
        Assert.False(IsSigned(key, $"{jws["protected"]}.", (string)jws["signature"]!));
    }

    [Fact]
    public void A_request_without_an_account_encloses_its_key()
    {
        using ECDsa key = KeyOf(X, Y, D);
        JsonNode jws = JsonNode.Parse(JsonWebSignature.Sign(key, account: null, NewOrder, "6S8IqOGY7eL2lsGoTZYifg", "{}"u8))!;
        Assert.Equal(
            $$$"""{"alg":"ES256","jwk":{"crv":"P-256","kty":"EC","x":"{{{X}}}","y":"{{{Y}}}"},"nonce":"6S8IqOGY7eL2lsGoTZYifg","url":"{{{NewOrder}}}"}""",
            TextOf(jws["protected"]));
        Assert.Equal("{}", TextOf(jws["payload"]));
    }

    [Fact]
    public void A_request_of_an_account_names_it_as_the_server_wrote_it()
    {
        using ECDsa key = KeyOf(X, Y, D);
        var account = new Uri("https://example.com:443/acme/acct/%65vOfKhNU60wg");
        JsonNode jws = JsonNode.Parse(JsonWebSignature.Sign(key, account, NewOrder, "n", payload: default))!;
        Assert.Equal(
            $$"""{"alg":"ES256","kid":"https://example.com:443/acme/acct/%65vOfKhNU60wg","nonce":"n","url":"{{NewOrder}}"}""", TextOf(jws["protected"]));
        Assert.Equal("", (string)jws["payload"]!);
    }

    [Fact]
    public void A_binding_signs_the_public_key_with_the_other_accounts_key()
    {
        using ECDsa key = KeyOf(X, Y, D);
        byte[] hmacKey = [.. Enumerable.Range(0, 32).Select(static i => (byte)i)];
        JsonNode jws = JsonNode.Parse(JsonWebSignature.Bind(key, "kid-1", hmacKey, new Uri("https://example.com/acme/new-account")))!;
        Assert.Equal("""{"alg":"HS256","kid":"kid-1","url":"https://example.com/acme/new-account"}""", TextOf(jws["protected"]));
        Assert.Equal(Encoding.ASCII.GetString(JsonWebSignature.PublicKey(key)), TextOf(jws["payload"]));

        // HMAC-SHA256 of the two parts, by Python.
        Assert.Equal("mSSwPvG8-kvhqjCCGnVgadAL93QUMYSBZtjGNGNBO_0", (string)jws["signature"]!);
    }

    [Fact]
    public void Only_keys_on_p_256_are_taken()
    {
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP384);
        Assert.Throws<ArgumentException>(() => JsonWebSignature.Thumbprint(key));
    }

    /// <summary>The token is that of RFC 8555, section 8.3; the hashes are by another program.</summary>
    [Fact]
    public void A_key_authorization_answers_each_kind_of_challenge()
    {
        using ECDsa key = KeyOf(X, Y, D);
        var authorization = new KeyAuthorization("DGyRejmCefe7v4NfDGDKfA", key);
        Assert.Equal("DGyRejmCefe7v4NfDGDKfA.oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U", authorization.Text);
        Assert.Equal("VIhlObU14SszuGiJjYEkSCWza9-X-UFUuzGh1QsiYcU", authorization.DnsValue);
        Assert.Equal("54886539B535E12B33B868898D81244825B36BDF97F94154BB31A1D50B2261C5", Convert.ToHexString(authorization.Digest));
    }

    [Fact]
    public void A_certificate_is_named_as_in_rfc_9773()
    {
        using X509Certificate2 certificate = X509Certificate2.CreateFromPem(TestCertificates.Rfc9773);
        Assert.Equal(TestCertificates.Rfc9773Id, RenewalCertificateId.Of(certificate));
    }

    [Fact]
    public void A_certificate_that_does_not_name_its_issuers_key_has_no_name()
    {
        using X509Certificate2 certificate = TestCertificates.SelfSigned();
        Assert.Null(RenewalCertificateId.Of(certificate));
    }

    [Theory]
    [InlineData("example.org", "dns", "example.org")]
    [InlineData("*.example.org", "dns", "*.example.org")]
    [InlineData("192.0.2.1", "ip", "192.0.2.1")]
    [InlineData("2001:DB8:0::1", "ip", "2001:db8::1")]
    public void A_name_becomes_an_identifier(string name, string type, string value) =>
        Assert.Equal(new AcmeIdentifier(type, value), AcmeIdentifier.Of(name));

    private static ECDsa KeyOf(string x, string y, string? d) => ECDsa.Create(new ECParameters
    {
        Curve = ECCurve.NamedCurves.nistP256,
        Q = { X = Base64Url.DecodeFromChars(x), Y = Base64Url.DecodeFromChars(y) },
        D = d is null ? null : Base64Url.DecodeFromChars(d),
    });

    private static bool IsSigned(ECDsa key, string input, string signature) => key.VerifyData(
        Encoding.ASCII.GetBytes(input), Base64Url.DecodeFromChars(signature), HashAlgorithmName.SHA256,
        DSASignatureFormat.IeeeP1363FixedFieldConcatenation);

    private static string TextOf(JsonNode? base64) => Encoding.ASCII.GetString(Base64Url.DecodeFromChars((string)base64!));
}
