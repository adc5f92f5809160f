using System.Buffers.Binary;
using System.Diagnostics;
using System.Security.Cryptography;

namespace Millrace.Tls.Quic;

/// <summary>HKDF (RFC 5869) as TLS 1.3 uses it (RFC 8446, section 7.1), for outputs of up to one hash. Any thread.</summary>
internal static class KeyDerivation
{
    private const int LabelLengthMax = 32;

    private static ReadOnlySpan<byte> Prefix => "tls13 "u8;

    /// <summary>HKDF-Extract with SHA-256.</summary>
    public static void Extract(ReadOnlySpan<byte> salt, ReadOnlySpan<byte> secret, Span<byte> output) =>
        MacContext.Sha256.Compute(salt, secret, [], output);

    /// <summary>HKDF-Expand-Label, without a context.</summary>
    public static void ExpandLabel(MacContext hash, ReadOnlySpan<byte> secret, ReadOnlySpan<byte> label, Span<byte> output)
    {
        Debug.Assert(label.Length <= LabelLengthMax && output.Length <= secret.Length, "One block of the hash is the whole output.");
        Span<byte> info = stackalloc byte[sizeof(ushort) + 1 + Prefix.Length + LabelLengthMax + 1];
        BinaryPrimitives.WriteUInt16BigEndian(info, (ushort)output.Length);
        info[2] = (byte)(Prefix.Length + label.Length);
        Prefix.CopyTo(info[3..]);
        label.CopyTo(info[(3 + Prefix.Length)..]);
        int count = 3 + Prefix.Length + label.Length;
        info[count++] = 0;

        // The length of a secret is that of its hash.
        Span<byte> block = stackalloc byte[MacContext.Sha384Length];
        block = block[..secret.Length];
        hash.Compute(secret, info[..count], [1], block);
        block[..output.Length].CopyTo(output);
        CryptographicOperations.ZeroMemory(block);
    }
}
