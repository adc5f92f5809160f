using System.Text;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>File names that a path has to be decoded for. All lie in /names/.</summary>
internal static class Names
{
    public const string Space = "with space.txt";
    public const string Percent = "100%.txt";
    public const string PercentEscape = "%41.txt";
    public const string Question = "what?.txt";
    public const string Hash = "sharp#.txt";
    public const string Plus = "one+one.txt";
    public const string Semicolon = "semi;colon.txt";
    public const string Ampersand = "this&that.txt";
    public const string Umlaut = "naïve-über.txt";
    public const string Japanese = "日本語.txt";
    public const string Emoji = "mill-🌊.txt";
    public const string Quote = "it's \"quoted\".txt";
    public const string Backslash = "back\\slash.txt";
    public const string Colon = "a:b.txt";
    public const string Punctuation = "(~!$*,@=)_-.txt";
    public const string Dots = "a..b.txt";
    public const string Angle = "<b>.txt";

    /// <summary>As many bytes as a name may have.</summary>
    public static readonly string Longest = new string('n', 251) + ".txt";

    /// <summary>A whole path, not below /names/.</summary>
    public static readonly string Deep = $"/{string.Join('/', Enumerable.Range(1, 30).Select(static depth => $"level{depth}"))}/deep.txt";

    public static readonly string[] All =
    [
        Space, Percent, PercentEscape, Question, Hash, Plus, Semicolon, Ampersand, Umlaut, Japanese, Emoji, Quote, Backslash, Colon,
        Punctuation, Dots, Angle, Longest,
    ];

    /// <summary>With everything but unreserved characters escaped.</summary>
    public static string TargetOf(string name) => "/names/" + Uri.EscapeDataString(name);

    public static byte[] ContentOf(string name) => Encoding.UTF8.GetBytes($"the file called {name}\n");
}
