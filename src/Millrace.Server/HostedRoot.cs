using System.Diagnostics.CodeAnalysis;

namespace Millrace.Server;

/// <summary>A virtual host as the command line has it: <c>NAME=ROOT</c>.</summary>
/// <param name="Name">The host's name, perhaps <c>*.example.org</c>.</param>
/// <param name="Root">The folder served for it.</param>
internal sealed record HostedRoot(string Name, string Root)
{
    public const string Form = "example.org=./folder or '*.example.org=./folder'";

    public static bool TryParse(string text, [NotNullWhen(true)] out HostedRoot? host)
    {
        int equals = text.IndexOf('=', StringComparison.Ordinal);
        string name = equals < 0 ? "" : text[..equals];
        string plain = name.StartsWith("*.", StringComparison.Ordinal) ? name[2..] : name;
        bool isName = Uri.CheckHostName(plain.Trim('[', ']')) != UriHostNameType.Unknown && plain.All(char.IsAscii);
        host = isName && equals + 1 < text.Length ? new HostedRoot(name, text[(equals + 1)..]) : null;
        return host is not null;
    }
}
