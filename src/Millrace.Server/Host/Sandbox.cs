using System.Globalization;
using System.Runtime.InteropServices;
using Microsoft.Extensions.Logging;
using Millrace.Interop;
using Millrace.Interop.Seccomp;
using Millrace.Interop.Users;
using Millrace.Server.Configuration;

namespace Millrace.Server.Host;

/// <summary>
/// Drops, permanently and for every thread of the process, what serving does not need: root privileges, setuid programs, and system calls.
/// </summary>
internal static partial class Sandbox
{
    /// <summary>Changes to the configured user: after everything is bound, and before anything is read for clients.</summary>
    /// <param name="options">The user and the configured files.</param>
    /// <param name="configuration">The configuration file, which SIGHUP reads again; null for none.</param>
    /// <param name="logIsNew">Whether the access log was created just now.</param>
    /// <param name="log">Receives warnings about files that the user cannot open again.</param>
    /// <exception cref="ServiceException">The change failed; the message says why. The server must not serve then.</exception>
    public static void Become(ServeOptions options, string? configuration, bool logIsNew, ILogger log)
    {
        if (options.Service.User is not { } text)
        {
            return;
        }

        Become(ServiceUser.Find(text), log);
        foreach (InaccessibleFile file in InaccessibleFile.Find(options, configuration, logIsNew))
        {
            Unavailable(log, file.File, file.Again, text, file.Reason, file.Remedy);
        }
    }

    /// <summary>Installs the system call filter if configured and supported. Call before the first connection is served.</summary>
    public static void FilterCalls(ServiceOptions options, ILogger log)
    {
        if (options.FiltersCalls && !TryInstall(SystemCallFilter.Build(RuntimeInformation.ProcessArchitecture), out string reason))
        {
            Unfiltered(log, reason);
        }
    }

    private static void Become(ServiceUser user, ILogger log)
    {
        if (!user.IsOwn)
        {
            // Groups first: only root can change them.
            Require(UserCalls.SetGroups([.. user.Groups]), user);
            Require(UserCalls.SetGroupId(user.Group), user);
            Require(UserCalls.SetUserId(user.Id), user);
        }

        // prctl(2) applies to one thread only. A filter is installed for all threads, and sets no_new_privs for them too.
        if (!TryInstall(SystemCallFilter.Nothing, out string reason))
        {
            throw new ServiceException($"Privileges cannot be dropped for all threads, as seccomp is not available: {reason}. "
                + "Have a service manager set the user (User=, NoNewPrivileges=) instead of --user.");
        }

        if (ThreadRights.ReadAll().Any(thread => !thread.IsOnly(user)))
        {
            throw new ServiceException($"A thread has kept privileges that '{user.Text}' does not have: start as root, "
                + "or have a service manager set the user (User=) instead of --user.");
        }

        UserChanged(log, user.Text, user.Id, user.Group);
    }

    /// <summary>The same thread must set the flag and install the filter: do not await in between.</summary>
    private static bool TryInstall(FilterInstruction[] program, out string reason)
    {
        int result = UserCalls.SetNoNewPrivileges();
        result = result < 0 ? result : SeccompCalls.Install(program);
        reason = result switch
        {
            0 => "",
            > 0 => $"thread {result} has a filter of its own",
            -Errno.EINVAL or -Errno.ENOSYS => "this kernel has no seccomp filters",
            _ => Errno.Describe(result),
        };
        return result == 0;
    }

    private static void Require(int result, ServiceUser user)
    {
        if (result < 0)
        {
            string reason = result == -Errno.EPERM ? "only root can" : Errno.Describe(result);
            throw new ServiceException($"The process cannot become '{user.Text}': {reason}. "
                + "Start it as root, or as that user without --user.");
        }
    }

    [LoggerMessage(20, LogLevel.Information, "Serving as {User} (user {Id}, group {Group}), without root privileges.")]
    private static partial void UserChanged(ILogger log, string user, uint id, uint group);

    [LoggerMessage(21, LogLevel.Warning, "--seccomp: the system call filter is not available ({Reason}); serving without it.")]
    private static partial void Unfiltered(ILogger log, string reason);

    [LoggerMessage(22, LogLevel.Warning, "{File} cannot be {Again} as {User}: {Reason}. {Remedy}")]
    private static partial void Unavailable(ILogger log, string file, string again, string user, string reason, string remedy);
}

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

/// <summary>Privileges that the process drops after its start.</summary>
/// <param name="User">The user to run as: <c>NAME[:GROUP]</c>; null to keep the current user.</param>
/// <param name="FiltersCalls">Whether system calls that serving does not need are denied.</param>
internal sealed record ServiceOptions(string? User = null, bool FiltersCalls = false);

/// <summary>Privileges cannot be dropped, or a passed socket cannot be used; the message says why.</summary>
internal sealed class ServiceException(string message) : Exception(message)
{
    /// <summary>Whether an option is wrong, as opposed to a refusal of the host.</summary>
    public bool IsMistake { get; init; }
}
