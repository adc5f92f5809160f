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

    [LoggerMessage(Level = LogLevel.Information, Message = "Serving as {User} (user {Id}, group {Group}), without root privileges.")]
    private static partial void UserChanged(ILogger log, string user, uint id, uint group);

    [LoggerMessage(
        Level = LogLevel.Warning, Message = "--seccomp: the system call filter is not available ({Reason}); serving without it.")]
    private static partial void Unfiltered(ILogger log, string reason);

    [LoggerMessage(
        Level = LogLevel.Warning,
        Message = "{File} cannot be {Again} as {User}: {Reason}. {Remedy}")]
    private static partial void Unavailable(ILogger log, string file, string again, string user, string reason, string remedy);
}
