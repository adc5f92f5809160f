using System.Text.RegularExpressions;
using Millrace.StaticFiles.Rules;

namespace Millrace.Models;

/// <summary>
/// The <c>_headers</c> file read with strings: its blocks and fields as lines of text, and the numbers of lines that are not understood.
/// </summary>
internal static partial class ReferenceHeadersFile
{
    public static (string[] Blocks, int[] Refused) Read(ReadOnlySpan<byte> bytes)
    {
        var blocks = new List<string>();
        var refused = new List<int>();
        var fields = new List<(string Name, string Value)>();
        var state = State.Start;
        foreach ((int number, string line) in ReferenceLines.Of(bytes, refused))
        {
            if (Path().IsMatch(line))
            {
                fields = [];
                bool isPattern = line[0] == '/' && ReferencePattern.Parse(line, PatternSyntax.Glob) is not null;
                state = isPattern ? State.InBlock : State.InRefusedBlock;
                if (isPattern)
                {
                    blocks.Add(line);
                    continue;
                }
            }
            else if (state == State.InBlock && Edit(line) is (string name, string value))
            {
                int before = fields.FindLastIndex(field => field.Name.Equals(name, StringComparison.OrdinalIgnoreCase));
                bool isJoined = value != "" && before >= 0 && fields[before].Value != "" && !IsCookie(name);
                int place = blocks.Count - fields.Count + before;
                if (isJoined)
                {
                    fields[before] = (fields[before].Name, $"{fields[before].Value}, {value}");
                    blocks[place] = $"{fields[before].Name}: {fields[before].Value}";
                }
                else
                {
                    fields.Add((name, value));
                    blocks.Add($"{name}: {value}");
                }

                continue;
            }
            else if (state == State.InRefusedBlock)
            {
                continue;
            }

            refused.Add(number);
        }

        return ([.. blocks], [.. refused]);
    }

    /// <summary>A field, with no value where it is taken away; null for what is neither.</summary>
    private static (string Name, string Value)? Edit(string line)
    {
        Match match = Field().Match(line);
        string name = match.Groups["name"].Value;
        string value = match.Groups["value"].Value;
        bool isOwned = FieldValidation.OwnedNames.Contains(name, StringComparer.OrdinalIgnoreCase);
        bool isTyped = match.Groups["value"].Success && name.Equals("Content-Type", StringComparison.OrdinalIgnoreCase);
        return match.Success && !isOwned && (!isTyped || MediaType().IsMatch(value)) ? (name, value) : null;
    }

    private static bool IsCookie(string name) => name.Equals("Set-Cookie", StringComparison.OrdinalIgnoreCase);

    private enum State
    {
        Start,
        InBlock,
        InRefusedBlock,
    }

    [GeneratedRegex(@"\A([/*]|https?://)", RegexOptions.IgnoreCase)]
    private static partial Regex Path();

    private const string Token = @"[!#$%&'*+\-.^_`|~0-9A-Za-z]+";

    [GeneratedRegex($@"\A(![ \t]*(?<name>{Token})|(?<name>(?!!){Token})[ \t]*:[ \t]*(?<value>[!-~]([\t -~]*[!-~])?))\z")]
    private static partial Regex Field();

    [GeneratedRegex($@"\A{Token}/{Token}[ \t]*(;.*)?\z", RegexOptions.Singleline)]
    private static partial Regex MediaType();
}
