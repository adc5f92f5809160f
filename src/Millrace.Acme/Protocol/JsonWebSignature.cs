using System.Buffers;
using System.Buffers.Text;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;

namespace Millrace.Acme.Protocol;

/// <summary>
/// Signed requests: JWS in its flattened form (RFC 7515, section 7.2.2) as RFC 8555, section 6.2 wants them. Stateless; any thread. A key
/// that is not on P-256 is an <see cref="ArgumentException"/>.
/// </summary>
internal static class JsonWebSignature
{
    private const string P256 = "1.2.840.10045.3.1.7";

    /// <param name="key">Signs, with ES256.</param>
    /// <param name="account">Its account's URL, which names the key; null to enclose the public key itself.</param>
    /// <param name="url">What is requested.</param>
    /// <param name="nonce">One of the server's.</param>
    /// <param name="payload">In JSON; empty for POST-as-GET.</param>
    public static byte[] Sign(ECDsa key, Uri? account, Uri url, string nonce, ReadOnlySpan<byte> payload)
    {
        byte[] header = Write(writer =>
        {
            writer.WriteString("alg", "ES256");
            if (account is null)
            {
                writer.WritePropertyName("jwk");
                writer.WriteRawValue(PublicKey(key));
            }
            else
            {
                // As the server wrote it: the server compares characters.
                writer.WriteString("kid", account.OriginalString);
            }

            writer.WriteString("nonce", nonce);
            writer.WriteString("url", url.AbsoluteUri);
        });
        return Flatten(header, payload, input =>
        {
            // An ECDsa is not promised to be used by two threads.
            lock (key)
            {
                return key.SignData(input, HashAlgorithmName.SHA256, DSASignatureFormat.IeeeP1363FixedFieldConcatenation);
            }
        });
    }

    /// <summary>Binds a key to an account outside of ACME (RFC 8555, section 7.3.4).</summary>
    /// <param name="key">The key of the new account.</param>
    /// <param name="keyId">Names the other account.</param>
    /// <param name="hmacKey">What only that account's owner knows.</param>
    /// <param name="newAccount">Where the account is created.</param>
    public static byte[] Bind(ECDsa key, string keyId, byte[] hmacKey, Uri newAccount)
    {
        byte[] header = Write(writer =>
        {
            writer.WriteString("alg", "HS256");
            writer.WriteString("kid", keyId);
            writer.WriteString("url", newAccount.AbsoluteUri);
        });
        return Flatten(header, PublicKey(key), input => HMACSHA256.HashData(hmacKey, input));
    }

    /// <summary>The public key as a JWK, with its members in the order that RFC 7638 hashes them in.</summary>
    public static byte[] PublicKey(ECDsa key)
    {
        ECParameters parameters = key.ExportParameters(includePrivateParameters: false);
        if (parameters.Curve.Oid.Value != P256)
        {
            throw new ArgumentException("The key of an account is on the curve P-256.", nameof(key));
        }

        return Write(writer =>
        {
            writer.WriteString("crv", "P-256");
            writer.WriteString("kty", "EC");
            writer.WriteString("x", Base64Url.EncodeToString(parameters.Q.X));
            writer.WriteString("y", Base64Url.EncodeToString(parameters.Q.Y));
        });
    }

    /// <summary>Of the public key (RFC 7638), in Base64Url.</summary>
    public static string Thumbprint(ECDsa key) => Base64Url.EncodeToString(SHA256.HashData(PublicKey(key)));

    /// <summary>A JSON object with these members.</summary>
    public static byte[] Write(Action<Utf8JsonWriter> members)
    {
        var buffer = new ArrayBufferWriter<byte>();
        using var writer = new Utf8JsonWriter(buffer);
        writer.WriteStartObject();
        members(writer);
        writer.WriteEndObject();
        writer.Flush();
        return buffer.WrittenSpan.ToArray();
    }

    private static byte[] Flatten(byte[] header, ReadOnlySpan<byte> payload, Func<byte[], byte[]> sign)
    {
        string protectedHeader = Base64Url.EncodeToString(header);
        string content = Base64Url.EncodeToString(payload);
        string signature = Base64Url.EncodeToString(sign(Encoding.ASCII.GetBytes($"{protectedHeader}.{content}")));
        return Write(writer =>
        {
            writer.WriteString("protected", protectedHeader);
            writer.WriteString("payload", content);
            writer.WriteString("signature", signature);
        });
    }
}
