using System.Globalization;

namespace Millrace.Server.Service;

/// <summary>What the kernel says of a thread's rights (<c>/proc/self/task/TID/status</c>). Pure.</summary>
/// <param name="Users">Real, effective, saved and for files.</param>
/// <param name="Groups">The same of its group.</param>
/// <param name="Supplementary">Its further groups.</param>
/// <param name="Capabilities">Those that are permitted, effective or ambient.</param>
/// <param name="HasNoNewPrivileges">Whether programs that it executes get no more rights.</param>
/// <param name="IsFiltered">Whether a filter of system calls applies to it.</param>
internal sealed record ThreadRights(
    IReadOnlyList<uint> Users,
    IReadOnlyList<uint> Groups,
    IReadOnlyList<uint> Supplementary,
    ulong Capabilities,
    bool HasNoNewPrivileges,
    bool IsFiltered)
{
    /// <summary>Of all threads that this process has now. One that has ended meanwhile is left out.</summary>
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
                // ESRCH or ENOENT: it has ended since the folder was listed.
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

    /// <summary>Whether it is this user, has no further group or right, and gets none.</summary>
    public bool IsOnly(ServiceUser user) =>
        Users.All(id => id == user.Id) && Groups.All(id => id == user.Group)
        && Supplementary.All(user.Groups.Contains) && Capabilities == 0 && HasNoNewPrivileges;

    private static uint[] Numbers(string text) =>
        [.. text.Split((char[])['\t', ' '], StringSplitOptions.RemoveEmptyEntries)
            .Select(static number => uint.Parse(number, CultureInfo.InvariantCulture))];

    private static ulong Mask(string text) => ulong.Parse(text, NumberStyles.HexNumber, CultureInfo.InvariantCulture);
}
