using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Millrace.AspNetCore;
using Millrace.AspNetCore.Transport;

namespace Microsoft.AspNetCore.Hosting;

/// <summary>Options of the Millrace transport for one endpoint.</summary>
public static class MillraceTransportListenOptionsExtensions
{
    /// <summary>
    /// Changes the transport's options for this endpoint, overriding all other sources. No effect where Millrace does not serve it.
    /// <code>
    /// kestrel.ListenAnyIP(5001, listen => listen.ConfigureMillrace(own => own.Scheduling = TransportScheduling.ThreadPool));
    /// </code>
    /// </summary>
    public static ListenOptions ConfigureMillrace(this ListenOptions listenOptions, Action<MillraceEndPointOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(listenOptions);
        ArgumentNullException.ThrowIfNull(configure);
        if (listenOptions.ApplicationServices.GetService<ListenConfigurations>() is { } configurations)
        {
            listenOptions.Use(next =>
            {
                configurations.NoteBuilt(configure);
                return next;
            });
        }

        return listenOptions;
    }
}
