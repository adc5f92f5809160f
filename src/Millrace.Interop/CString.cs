using System.Text;

namespace Millrace.Interop;

/// <summary>Encodes strings for C.</summary>
internal static class CString
{
    /// <summary>Encodes as UTF-8 with a terminating zero byte.</summary>
    public static byte[] Of(string text) => [.. Encoding.UTF8.GetBytes(text), 0];
}
