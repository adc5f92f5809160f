using Microsoft.AspNetCore.SignalR;

namespace WebApi;

/// <summary>A SignalR hub: who says something is heard by all.</summary>
internal sealed class MillHub : Hub
{
    public Task Say(string words) => Clients.All.SendAsync("heard", words, Context.ConnectionAborted);
}
