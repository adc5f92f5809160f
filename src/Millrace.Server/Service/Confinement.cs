using System.Runtime.InteropServices;
using Microsoft.Extensions.Logging;
using Millrace.Interop;
using Millrace.Interop.Seccomp;
using Millrace.Interop.Users;
using Millrace.Server.Options;

namespace Millrace.Server.Service;

/// <summary>
/// Gives up, for good and for every thread of the process, what serving does not need: rights of root, programs with more rights, and
/// system calls.
/// </summary>
internal static partial class Confinement
{
    /// <summary>Goes on as the user that was asked for: when everything is bound, and before anything is read for clients.</summary>
    /// <param name="options">As whom, and with what.</param>
    /// <param name="configuration">The file that is read anew at SIGHUP; null for none.</param>
    /// <param name="logIsNew">Whether the access log was made just now.</param>
    /// <param name="log">Told of what that user may not do again.</param>
    /// <exception cref="ServiceException">The user cannot be had; the message says why. Nobody may be served then.</exception>
    public static void Become(ServeOptions options, string? configuration, bool logIsNew, ILogger log)
    {
        if (options.Service.User is not { } text)
        {
            return;
        }

        Become(ServiceUser.Find(text), log);
        foreach (Withheld file in Withheld.Find(options, configuration, logIsNew))
        {
            Unavailable(log, file.File, file.Again, text, file.Reason, file.Remedy);
        }
    }

    /// <summary>Refuses calls, where that was asked for and the kernel lets us. To be done before the first connection is served.</summary>
    public static void FilterCalls(ServiceOptions options, ILogger log)
    {
        if (options.FiltersCalls && !TryInstall(CallFilter.Build(RuntimeInformation.ProcessArchitecture), out string reason))
        {
            Unfiltered(log, reason);
        }
    }

    private static void Become(ServiceUser user, ILogger log)
    {
        if (!user.IsOwn)
        {
            // Groups first: without root nobody may change them.
            Require(UserCalls.SetGroups([.. user.Groups]), user);
            Require(UserCalls.SetGroupId(user.Group), user);
            Require(UserCalls.SetUserId(user.Id), user);
        }

        // prctl(2) is about one thread. A filter is installed for all of them, and takes the flag along.
        if (!TryInstall(CallFilter.Nothing, out string reason))
        {
            throw new ServiceException($"No thread but one can be kept from getting rights back, as seccomp is refused: {reason}. "
                + "Have a service manager set the user (User=, NoNewPrivileges=) instead of --user.");
        }

        if (ThreadRights.ReadAll().Any(thread => !thread.IsOnly(user)))
        {
            throw new ServiceException($"A thread has kept rights that '{user.Text}' has not: start as root, "
                + "or have a service manager set the user (User=) instead of --user.");
        }

        Became(log, user.Text, user.Id, user.Group);
    }

    /// <summary>The thread that sets the flag must be the one that installs: nothing is awaited in between.</summary>
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
            string reason = result == -Errno.EPERM ? "only root may" : Errno.Describe(result);
            throw new ServiceException($"The process cannot become '{user.Text}': {reason}. "
                + "Start it as root, or as that user without --user.");
        }
    }

    [LoggerMessage(Level = LogLevel.Information, Message = "Serving as {User} (user {Id}, group {Group}), without any right of root.")]
    private static partial void Became(ILogger log, string user, uint id, uint group);

    [LoggerMessage(
        Level = LogLevel.Warning, Message = "No system call is refused, as --seccomp asked for: {Reason}. The server serves without.")]
    private static partial void Unfiltered(ILogger log, string reason);

    [LoggerMessage(
        Level = LogLevel.Warning,
        Message = "{File} is open now, and cannot be {Again}: {User} may not ({Reason}). {Remedy}")]
    private static partial void Unavailable(ILogger log, string file, string again, string user, string reason, string remedy);
}
