using System.Buffers;
using System.Text;
using Millrace.Server.Configuration.Settings;

namespace Millrace.Server.Configuration.Files;

/// <summary>A file's bytes, and the line and column of a byte.</summary>
internal sealed class FileText(string path, byte[] bytes)
{
    private static ReadOnlySpan<byte> ByteOrderMark => [0xEF, 0xBB, 0xBF];

    public string Path => path;

    public ReadOnlySpan<byte> Bytes => bytes;

    /// <summary>Offset of the text, after a byte order mark.</summary>
    public int Start => Bytes.StartsWith(ByteOrderMark) ? ByteOrderMark.Length : 0;

    /// <summary>The offset of the first byte that is not UTF-8, or the length.</summary>
    public int ValidBytes
    {
        get
        {
            int offset = 0;
            int consumed = 0;
            do
            {
                offset += consumed;
            }
            while (Rune.DecodeFromUtf8(bytes.AsSpan(offset), out _, out consumed) == OperationStatus.Done);
            return offset;
        }
    }

    /// <summary>The position of a byte, by its offset in the text.</summary>
    public FilePosition At(long textOffset)
    {
        int offset = (int)Math.Min(Start + textOffset, bytes.Length);
        ReadOnlySpan<byte> before = bytes.AsSpan(Start, offset - Start);
        int line = before.Count((byte)'\n');
        int column = Encoding.UTF8.GetCharCount(before[(before.LastIndexOf((byte)'\n') + 1)..]);
        return new FilePosition(path, line + 1, column + 1);
    }

    /// <summary>The position of a byte in a line, both counted from 0.</summary>
    public FilePosition At(long line, long byteInLine)
    {
        ReadOnlySpan<byte> text = bytes.AsSpan(Start);
        int lineStart = 0;
        for (; line > 0; line--)
        {
            lineStart += text[lineStart..].IndexOf((byte)'\n') + 1;
        }

        return At(lineStart + byteInLine);
    }
}
