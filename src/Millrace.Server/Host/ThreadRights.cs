using System.Globalization;

namespace Millrace.Server.Host;

/// <summary>A thread's credentials, parsed from <c>/proc/self/task/TID/status</c>.</summary>
/// <param name="Users">Real, effective, saved and file system user ID.</param>
/// <param name="Groups">Real, effective, saved and file system group ID.</param>
/// <param name="Supplementary">Supplementary groups.</param>
/// <param name="Capabilities">Permitted, effective and ambient capabilities.</param>
/// <param name="HasNoNewPrivileges">Whether executed programs get no further privileges.</param>
/// <param name="IsFiltered">Whether a system call filter applies.</param>
internal sealed record ThreadRights(
    IReadOnlyList<uint> Users,
    IReadOnlyList<uint> Groups,
    IReadOnlyList<uint> Supplementary,
    ulong Capabilities,
    bool HasNoNewPrivileges,
    bool IsFiltered)
{
    /// <summary>Reads all current threads of this process, except those that end meanwhile.</summary>
    public static IReadOnlyList<ThreadRights> ReadAll()
    {
        var all = new List<ThreadRights>();
        foreach (string folder in Directory.GetDirectories("/proc/self/task"))
        {
            try
            {
                all.Add(Parse(File.ReadAllText(Path.Combine(folder, "status"))));
            }
            catch (IOException)
            {
                // ESRCH or ENOENT: the thread has ended since the folder was listed.
                continue;
            }
        }

        return all;
    }

    public static ThreadRights Parse(string status)
    {
        Dictionary<string, string> lines = status.Split('\n', StringSplitOptions.RemoveEmptyEntries)
            .Select(static line => line.Split(':', 2))
            .Where(static parts => parts.Length == 2)
            .ToDictionary(static parts => parts[0], static parts => parts[1].Trim());
        return new ThreadRights(
            Numbers(lines["Uid"]),
            Numbers(lines["Gid"]),
            Numbers(lines["Groups"]),
            Mask(lines["CapPrm"]) | Mask(lines["CapEff"]) | Mask(lines["CapAmb"]),
            lines["NoNewPrivs"] == "1",
            lines["Seccomp"] == "2");
    }

    /// <summary>Whether the thread has only this user's rights, and cannot get more.</summary>
    public bool IsOnly(ServiceUser user) =>
        Users.All(id => id == user.Id) && Groups.All(id => id == user.Group)
        && Supplementary.All(user.Groups.Contains) && Capabilities == 0 && HasNoNewPrivileges;

    private static uint[] Numbers(string text) =>
        [.. text.Split((char[])['\t', ' '], StringSplitOptions.RemoveEmptyEntries)
            .Select(static number => uint.Parse(number, CultureInfo.InvariantCulture))];

    private static ulong Mask(string text) => ulong.Parse(text, NumberStyles.HexNumber, CultureInfo.InvariantCulture);
}
