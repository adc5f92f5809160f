using System.Text.RegularExpressions;

namespace Millrace.Models;

/// <summary>Basic credentials (RFC 7617 section 2) by a regular expression, and base64 (RFC 4648 section 4) as a string of bits.</summary>
internal static partial class ReferenceCredentials
{
    private const string Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    public static (string User, string Password)? Read(string authorization, int bytesMax)
    {
        Match match = Form().Match(authorization);
        if (!match.Success)
        {
            return null;
        }

        string bits = string.Concat(match.Groups["token"].Value.TrimEnd('=').Select(letter => Alphabet.IndexOf(letter).ToString("b6")));
        string text = string.Concat(Enumerable.Range(0, bits.Length / 8).Select(at => (char)Convert.ToByte(bits.Substring(8 * at, 8), 2)));
        string[] parts = text.Split(':', 2);

        // "implementations MUST ... set the pad bits to zero", and a decoder may refuse others (RFC 4648 section 3.5).
        bool hasPadBits = bits[(text.Length * 8)..].Contains('1');
        return hasPadBits || text.Length > bytesMax || parts.Length < 2 || text.Any(letter => letter is < ' ' or '\x7F') ? null : (parts[0], parts[1]);
    }

    [GeneratedRegex(@"\A[Bb][Aa][Ss][Ii][Cc] +(?<token>([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\z")]
    private static partial Regex Form();
}
