using System.Text;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>Bytes as strings and back, one character a byte, so that every byte can be written.</summary>
internal static class Latin1
{
    public static byte[] Bytes(string text) => Encoding.Latin1.GetBytes(text);

    public static string Text(ReadOnlySpan<byte> bytes) => Encoding.Latin1.GetString(bytes);

    public static string Text(this TextRange range, ReadOnlySpan<byte> bytes) => Text(range.In(bytes));
}
