using System.Text;

namespace Millrace.Server.Admin;

/// <summary>What an admin page answers with.</summary>
/// <param name="Status">A status of RFC 9110.</param>
/// <param name="ContentType">The body's type.</param>
/// <param name="Body">The body.</param>
/// <param name="Fields">Further lines of the head, each with its end.</param>
internal sealed record AdminAnswer(int Status, string ContentType, byte[] Body, byte[] Fields)
{
    /// <summary>A line for people and probes.</summary>
    public static AdminAnswer Text(int status, string line, string fields = "") =>
        new(status, "text/plain; charset=utf-8", Encoding.UTF8.GetBytes($"{line}\n"), Encoding.ASCII.GetBytes(fields));
}
