using System.Buffers;
using System.Buffers.Text;
using System.Security.Cryptography;
using System.Text;
using Millrace.Interop.Files;

namespace Millrace.Tls.Certificates;

/// <summary>
/// One file with certificates or a key, as PEM blocks or, if binary, as DER. Accepts a byte order mark and UTF-16, which editors and shells
/// of Windows write. Dispose clears the bytes, which may be secret. One thread.
/// </summary>
internal sealed class PemFile : IDisposable
{
    private const byte DerSequence = 0x30;

    private readonly byte[] _bytes;
    private readonly string _what;

    private PemFile(string path, string what, byte[] bytes)
    {
        Path = path;
        _what = what;
        _bytes = bytes;
        IsDer = bytes is [DerSequence, ..];
        Blocks = IsDer ? [] : FindBlocks();
    }

    private static ReadOnlySpan<byte> Utf8Mark => [0xEF, 0xBB, 0xBF];

    private static ReadOnlySpan<byte> Begin => "-----BEGIN "u8;

    private static ReadOnlySpan<byte> Dashes => "-----"u8;

    public string Path { get; }

    /// <summary>Whether it is binary: the first byte of an ASN.1 sequence, which is the digit 0 in text.</summary>
    public bool IsDer { get; }

    public ReadOnlySpan<byte> Bytes => _bytes;

    public IReadOnlyList<PemBlock> Blocks { get; }

    /// <exception cref="TlsException">The file cannot be read, or a block in it is damaged.</exception>
    public static PemFile Read(string path, string what)
    {
        byte[] bytes = ReadFile(path, what);
        byte[] text = WithoutMark(bytes);
        if (text != bytes)
        {
            CryptographicOperations.ZeroMemory(bytes);
        }

        try
        {
            return new PemFile(path, what, text);
        }
        catch
        {
            CryptographicOperations.ZeroMemory(text);
            throw;
        }
    }

    /// <summary>All bytes of a block, including its BEGIN and END lines.</summary>
    public ReadOnlySpan<byte> TextOf(PemBlock block) => _bytes.AsSpan(block.Whole);

    /// <summary>Decodes a block.</summary>
    /// <exception cref="TlsException">It is not Base64.</exception>
    public byte[] Decode(PemBlock block)
    {
        ReadOnlySpan<byte> body = _bytes.AsSpan(block.Body);
        byte[] decoded = new byte[Base64.GetMaxDecodedFromUtf8Length(body.Length)];
        if (Base64.DecodeFromUtf8(body, decoded, out int consumed, out int written) != OperationStatus.Done || consumed != body.Length)
        {
            throw new TlsException($"The {_what} '{Path}' is damaged: the block that begins in line {block.Line} is not Base64. "
                + "Copy the file again.");
        }

        return decoded[..written];
    }

    public void Dispose() => CryptographicOperations.ZeroMemory(_bytes);

    /// <summary>Reads a file; the exception describes the failure.</summary>
    /// <exception cref="TlsException">It is empty or cannot be read.</exception>
    private static byte[] ReadFile(string path, string what)
    {
        try
        {
            return File.ReadAllBytes(path) is { Length: > 0 } bytes
                ? bytes
                : throw new TlsException($"The {what} '{path}' is empty: copy the file again.");
        }
        catch (Exception refusal) when (refusal is FileNotFoundException or DirectoryNotFoundException)
        {
            throw new TlsException($"The {what} '{path}' does not exist: check its path.", refusal);
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException)
        {
            bool isMistake = FileProblem.IsMistake(path, refusal);
            string remedy = FileProblem.RemedyOf(refusal, isMistake ? "Name the file itself." : "Let this user read it.");
            throw new TlsException($"The {what} '{path}' cannot be read: {FileProblem.Of(path, refusal)}. {remedy}", refusal)
            {
                IsMistake = isMistake,
            };
        }
    }

    private static byte[] WithoutMark(byte[] bytes) => bytes switch
    {
        [0xFF, 0xFE, ..] => Encoding.Convert(Encoding.Unicode, Encoding.UTF8, bytes, 2, bytes.Length - 2),
        [0xFE, 0xFF, ..] => Encoding.Convert(Encoding.BigEndianUnicode, Encoding.UTF8, bytes, 2, bytes.Length - 2),
        _ when bytes.AsSpan().StartsWith(Utf8Mark) => bytes[Utf8Mark.Length..],
        _ => bytes,
    };

    private List<PemBlock> FindBlocks()
    {
        var blocks = new List<PemBlock>();
        ReadOnlySpan<byte> all = _bytes;
        for (int at = 0; all[at..].IndexOf(Begin) is int offset and >= 0;)
        {
            int start = at + offset;
            int line = all[..start].Count((byte)'\n') + 1;
            int labelStart = start + Begin.Length;
            int labelBytes = all[labelStart..].IndexOf(Dashes);
            string label = Encoding.ASCII.GetString(all.Slice(labelStart, Math.Max(0, labelBytes)));
            int bodyStart = labelStart + labelBytes + Dashes.Length;
            byte[] end = Encoding.ASCII.GetBytes($"-----END {label}-----");
            int bodyBytes = labelBytes < 0 ? -1 : all[bodyStart..].IndexOf(end);
            int next = labelBytes < 0 ? -1 : all[bodyStart..].IndexOf(Begin);
            if (bodyBytes < 0 || (next >= 0 && next < bodyBytes))
            {
                throw new TlsException($"The {_what} '{Path}' is damaged: the block that begins in line {line} has no end "
                    + $"('-----END {label}-----'). Copy the file again.");
            }

            at = bodyStart + bodyBytes + end.Length;
            blocks.Add(new PemBlock(label, line, start..at, bodyStart..(bodyStart + bodyBytes)));
        }

        return blocks;
    }
}

/// <summary>A PEM block (RFC 7468): its label, its first line, and the ranges of it and of its body in the file.</summary>
internal readonly record struct PemBlock(string Label, int Line, Range Whole, Range Body)
{
    public bool IsCertificate => Label is "CERTIFICATE" or "X509 CERTIFICATE" or "TRUSTED CERTIFICATE";

    public bool IsPrivateKey => Label.EndsWith("PRIVATE KEY", StringComparison.Ordinal);
}
